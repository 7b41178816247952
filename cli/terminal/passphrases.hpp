// Passphrases of bundles, asked on the terminal.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "auth/credentials.hpp"
#include "base/error.hpp"
#include "config/settings.hpp"

namespace farport::cli {

/// Asks for the passphrase of a bundle on the terminal, without showing it. `is_new`: to be typed the same
/// twice. Errors: there is no terminal, or nothing was typed.
[[nodiscard]] Result<auth::Passphrase> ask_passphrase(const std::string& bundle, bool is_new);

/// Asks once for each encrypted bundle that has no passphrase file. A wrong passphrase may be typed again
/// twice. What can't be read is left for those who load it.
class Unlocker {
 public:
  [[nodiscard]] Result<void> unlock(config::TlsFiles& tls);

 private:
  std::map<std::string, std::shared_ptr<const auth::Passphrase>> typed_;  ///< By the bundle's path.
};

/// The bundles of a command's settings.
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
