#include "cli/helpers.hpp"

#include <openssl/crypto.h>

#include "confinement/confinement.hpp"
#include "router/agent/readers/answers.hpp"

namespace farport::cli {
namespace {

/// A passphrase that was typed before: helpers read what others have made, and have no use for it.
void forget(const config::TlsFiles& tls) {
  if (tls.passphrase == nullptr) return;
  const std::string_view text = tls.passphrase->text();
  OPENSSL_cleanse(const_cast<char*>(text.data()), text.size());
}

}  // namespace

std::shared_ptr<const router::SamplerProcess> start_sampler(const config::ServeSettings& settings,
                                                            const Log& log) {
  auto started = router::SamplerProcess::start([&settings] {
    forget(settings.tls);
    if (settings.confinement.mode != "off") confinement::confine_sampler();
  });
  if (started) return std::make_shared<const router::SamplerProcess>(std::move(*started));
  log->warn("{}: nothing can be profiled", started.error().message());
  return nullptr;
}

std::shared_ptr<const router::ReaderProcess> start_readers(const config::ServeSettings& settings,
                                                           const Log& log) {
  const bool confined = settings.confinement.mode != "off";
  router::ReaderProcess::GivenUp given_up;
  given_up.secrets = [&settings] { forget(settings.tls); };
  given_up.rights = [confined] {
    if (confined) confinement::confine_reader_starter();
  };
  given_up.rights_of_reader = [confined] { return !confined || confinement::confine_parser(); };
  auto started = router::ReaderProcess::start(std::move(given_up), router::make_answer);
  if (started) return std::make_shared<const router::ReaderProcess>(std::move(*started));
  log->warn("{}: there are no recordings over HTTP, no profiles as files, and no --app-metrics",
            started.error().message());
  return nullptr;
}

}  // namespace farport::cli
