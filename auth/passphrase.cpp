#include "auth/passphrase.hpp"

#include <algorithm>
#include <array>

#include <openssl/crypto.h>

#include "base/read_file.hpp"

namespace farport::auth {
namespace {

/// More than a line: what follows it is not looked at.
constexpr std::size_t kLargestPassphraseFile = 4 * kLongestPassphrase;

/// Room that is wiped when it goes.
struct Buffer {
  std::array<char, kLargestPassphraseFile> bytes{};

  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
};

}  // namespace

Passphrase::~Passphrase() {
  OPENSSL_cleanse(text_.data(), text_.size());
}

Result<Passphrase> read_passphrase(const std::string& path) {
  Buffer buffer;
  const auto size = read_regular_file("passphrase", path, std::span<char>(buffer.bytes));
  if (!size) return tl::unexpected(size.error());
  std::string_view line(buffer.bytes.data(), *size);
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return fail("read passphrase", path, "its first line is empty", "write it there");
  if (line.size() > kLongestPassphrase) {
    return fail("read passphrase", path, "its first line is longer than 1024 bytes",
                "is this the right file?");
  }
  return Passphrase(line);
}

}  // namespace farport::auth
