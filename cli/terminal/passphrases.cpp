#include "cli/terminal/passphrases.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <openssl/err.h>
#include <openssl/ui.h>

#include "auth/credentials.hpp"
#include "base/escape.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal_keys.hpp"

namespace farport::cli {
namespace {

constexpr int kUnlockTries = 3;

/// A buffer for typed text, wiped when it is destroyed.
struct Typed {
  std::array<char, auth::kLongestPassphrase + 1> text{};

  Typed() = default;
  Typed(const Typed&) = delete;
  Typed& operator=(const Typed&) = delete;
  ~Typed() { OPENSSL_cleanse(text.data(), text.size()); }
};

Result<std::shared_ptr<const auth::Passphrase>> ask_until_right(auth::TlsFiles files) {
  for (int tries = 1;; ++tries) {
    ASSIGN_OR_RETURN(auto typed, ask_passphrase(files.cert, false));
    files.passphrase = std::make_shared<const auth::Passphrase>(std::move(typed));
    const auto opened = auth::load_bundle(files);
    const bool wrong = !opened && opened.error().cause == EKEYREJECTED;
    if (!wrong) return files.passphrase;
    if (tries == kUnlockTries) return tl::unexpected(opened.error());
    print_message(opened.error().message());
  }
}

}  // namespace

Result<auth::Passphrase> ask_passphrase(const std::string& bundle, bool is_new) {
  const std::string tried = "ask for the passphrase of";
  const HidingTerminal terminal;
  if (!terminal) {
    return fail(tried, bundle, "there is no terminal",
                is_new ? "give a file that contains it: --passphrase-file"
                       : "give a file that contains it: --tls-passphrase-file");
  }
  const std::string prompt = (is_new ? "New passphrase of " : "Passphrase of ") + escape(bundle) + ": ";
  Typed typed;
  const bool taken = UI_UTIL_read_pw_string(typed.text.data(), static_cast<int>(typed.text.size()),
                                            prompt.c_str(), is_new ? 1 : 0) == 0;
  ERR_clear_error();
  const std::size_t size = std::strlen(typed.text.data());
  if (taken && size > 0) return auth::Passphrase({typed.text.data(), size});
  return fail(tried, bundle, taken || !is_new ? "no passphrase was entered" : "the two entries differ");
}

Result<void> Unlocker::unlock(config::TlsFiles& tls) {
  if (tls.bundle.empty() || !tls.passphrase_file.empty() || !auth::is_encrypted_bundle(tls.bundle)) return {};
  auto& known = typed_[tls.bundle];
  if (known == nullptr) {
    ASSIGN_OR_RETURN(auto typed, ask_until_right(tls_files(tls)));
    known = std::move(typed);
  }
  tls.passphrase = known;
  return {};
}

Result<void> Unlocker::unlock(std::vector<config::RemoteSettings>& remotes) {
  for (config::RemoteSettings& remote : remotes) {
    RETURN_IF_ERROR(unlock(remote.tls));
  }
  return {};
}

Result<void> unlock(config::RunSettings& settings) {
  const auto unlocker = std::make_shared<Unlocker>();
  // Remotes in the tool's arguments are resolved later.
  settings.resolve_remote = [unlocker, resolve = std::move(settings.resolve_remote)](
                                const std::string& text) -> Result<config::RemoteSettings> {
    ASSIGN_OR_RETURN(auto remote, resolve(text));
    RETURN_IF_ERROR(unlocker->unlock(remote.tls));
    return remote;
  };
  return unlocker->unlock(settings.remotes);
}

}  // namespace farport::cli
