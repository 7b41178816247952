#include "router/random_token.hpp"

#include <array>
#include <stdexcept>

#include <openssl/rand.h>

#include "base/hex.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kBytes = 16;

}  // namespace

std::string random_token() {
  std::array<unsigned char, kBytes> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) throw std::runtime_error("no randomness is to be had");
  return hex(std::as_bytes(std::span(bytes)));
}

bool is_token(std::string_view text) {
  return text.size() == 2 * kBytes && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace farport::router
