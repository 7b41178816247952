// What opens an encrypted key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace farport::auth {

/// The longest passphrase, in bytes.
inline constexpr std::size_t kLongestPassphrase = 1024;

/// Wiped when it goes. Nothing prints it.
class Passphrase {
 public:
  explicit Passphrase(std::string_view text) : text_(text.begin(), text.end()) {}
  Passphrase(Passphrase&&) = default;
  Passphrase& operator=(Passphrase&&) = delete;
  Passphrase(const Passphrase&) = delete;
  Passphrase& operator=(const Passphrase&) = delete;
  ~Passphrase();

  /// Valid as long as this.
  [[nodiscard]] std::string_view text() const { return {text_.data(), text_.size()}; }

 private:
  std::vector<char> text_;  ///< Not a string: moving one of those may leave a copy behind.
};

/// The first line of a regular file, without its end. An empty one, and one that is longer than
/// kLongestPassphrase, are errors.
[[nodiscard]] Result<Passphrase> read_passphrase(const std::string& path);

}  // namespace farport::auth
