// Asking for the passphrases of bundles on the terminal.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "auth/credentials.hpp"
#include "base/error.hpp"
#include "config/settings.hpp"

namespace farport::cli {

/// Asks for a bundle's passphrase on the terminal without echo. `is_new`: it must be typed twice. Fails if
/// there is no terminal or nothing is typed.
[[nodiscard]] Result<auth::Passphrase> ask_passphrase(const std::string& bundle, bool is_new);

/// Asks once for each encrypted bundle without a passphrase file. After a wrong passphrase there are two more
/// tries. Unreadable bundles are left to the code that loads them.
class Unlocker {
 public:
  [[nodiscard]] Result<void> unlock(config::TlsFiles& tls);
  [[nodiscard]] Result<void> unlock(std::vector<config::RemoteSettings>& remotes);

 private:
  std::map<std::string, std::shared_ptr<const auth::Passphrase>> typed_;  ///< By the bundle's path.
};

/// Asks for the passphrases of all bundles in a command's settings.
template <typename Settings>
[[nodiscard]] Result<void> unlock(Settings& settings) {
  if constexpr (requires { settings.tls; }) {
    return Unlocker().unlock(settings.tls);
  } else if constexpr (requires { settings.remote; }) {
    return Unlocker().unlock(settings.remote.tls);
  } else {
    return Unlocker().unlock(settings.remotes);
  }
}
[[nodiscard]] Result<void> unlock(config::RunSettings& settings);

}  // namespace farport::cli
