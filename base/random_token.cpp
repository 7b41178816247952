#include "base/random_token.hpp"

#include <array>
#include <stdexcept>

#include <unistd.h>

#include "base/hex.hpp"

namespace farport {
namespace {

constexpr std::size_t kBytes = 16;

}  // namespace

std::string random_token() {
  std::array<std::byte, kBytes> bytes{};
  // The kernel's own: OpenSSL's generator, which stands on it, takes several times as long for so few.
  if (::getentropy(bytes.data(), bytes.size()) != 0) throw std::runtime_error("no randomness is to be had");
  return hex(bytes);
}

bool is_token(std::string_view text) {
  return text.size() == 2 * kBytes && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace farport
