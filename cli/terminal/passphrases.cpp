#include "cli/terminal/passphrases.hpp"

#include <array>
#include <cerrno>

#include <openssl/crypto.h>

#include "auth/credentials.hpp"
#include "base/escape.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/setup/runtime_session.hpp"
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

tl::unexpected<Error> not_asked(const std::string& tried, const std::string& bundle, const Error& why) {
  if (why.cause == EINTR) return tl::unexpected(interrupted(tried, bundle));
  return fail(tried, bundle, why.why);
}

}  // namespace

Result<auth::Passphrase> ask_passphrase(const std::string& bundle, bool is_new) {
  const std::string tried = "ask for the passphrase of";
  HidingTerminal terminal;
  if (!terminal) {
    return fail(tried, bundle, "there is no terminal",
                is_new ? "give a file that contains it: --passphrase-file"
                       : "give a file that contains it: --tls-passphrase-file");
  }
  const std::string prompt = (is_new ? "New passphrase of " : "Passphrase of ") + escape(bundle) + ": ";
  Typed typed;
  Typed again;
  const auto first = terminal.ask(prompt, typed.text);
  if (!first) return not_asked(tried, bundle, first.error());
  if (first->empty()) return fail(tried, bundle, "no passphrase was entered");
  if (first->size() > auth::kLongestPassphrase) return fail(tried, bundle, "it is too long");
  if (is_new) {
    const auto second = terminal.ask("The same again: ", again.text);
    if (!second) return not_asked(tried, bundle, second.error());
    if (*first != *second) return fail(tried, bundle, "the two entries differ");
  }
  return auth::Passphrase(*first);
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
