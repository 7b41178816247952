// Asking for the passphrases of bundles on the terminal.
#pragma once

#include <map>
#include <memory>
#include <string>

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

 private:
  std::map<std::string, std::shared_ptr<const auth::Passphrase>> typed_;  ///< By the bundle's path.
};

/// Asks for the passphrases of all bundles in a command's settings.
[[nodiscard]] Result<void> unlock(config::ServeSettings& settings);
[[nodiscard]] Result<void> unlock(config::DumpCommandSettings& settings);
[[nodiscard]] Result<void> unlock(config::RecordingSettings& settings);
[[nodiscard]] Result<void> unlock(config::TopSettings& settings);
[[nodiscard]] Result<void> unlock(config::RunSettings& settings);
[[nodiscard]] Result<void> unlock(config::ConnectSettings& settings);
[[nodiscard]] Result<void> unlock(config::PsSettings& settings);
[[nodiscard]] Result<void> unlock(config::CanISettings& settings);
[[nodiscard]] Result<void> unlock(config::DoctorSettings& settings);

}  // namespace farport::cli
