#include "cli/setup/helpers.hpp"

#include <cstdlib>
#include <ctime>

#include <openssl/crypto.h>

#include "base/resources.hpp"
#include "confinement/confinement.hpp"
#include "router/readers/answers.hpp"

namespace farport::cli {
namespace {

/// Wipes a passphrase that was typed before: helpers process hostile data and don't need it.
void forget(const config::TlsFiles& tls) {
  if (tls.passphrase == nullptr) return;
  const std::string_view text = tls.passphrase->text();
  OPENSSL_cleanse(const_cast<char*>(text.data()), text.size());
}

/// What the reader starter and each reader give up. `tls` must exist until the starter has been started.
router::ReaderProcess::GivenUp given_up(const config::TlsFiles& tls, bool confined, bool behind_others) {
  return {[&tls] { forget(tls); },
          [confined] {
            if (confined) confinement::confine_reader_starter();
          },
          [confined] { return !confined || confinement::confine_parser(); }, behind_others};
}

}  // namespace

std::shared_ptr<const router::SamplerProcess> start_sampler(const config::ServeSettings& settings,
                                                            const Log& log) {
  auto started = router::SamplerProcess::start([&settings] {
    forget(settings.tls);
    prefer_as_oom_victim();
    if (settings.confinement.mode != "off") confinement::confine_sampler();
  });
  if (started) return std::make_shared<const router::SamplerProcess>(std::move(*started));
  log->warn("{}: nothing can be profiled", started.error().message());
  return nullptr;
}

std::shared_ptr<const router::ReaderProcess> start_readers(const config::ServeSettings& settings,
                                                           const Log& log) {
  auto started = router::ReaderProcess::start(
      given_up(settings.tls, settings.confinement.mode != "off", true), router::make_answer);
  if (started) return std::make_shared<const router::ReaderProcess>(std::move(*started));
  log->warn("{}: there are no recordings over HTTP, no profiles as files, and no --app-metrics",
            started.error().message());
  return nullptr;
}

Result<router::ReaderProcess> start_readers(const config::RemoteSettings& remote, router::ReaderWork work) {
  const char* const mode = std::getenv("FARPORT_CONFINE");
  // Read the time zone now, since a confined reader can't.
  ::tzset();
  return router::ReaderProcess::start(
      given_up(remote.tls, mode == nullptr || std::string_view(mode) != "off", false),
      [work = std::move(work)](const auto& wanted, auto& from, auto& to) {
        const bool names = wanted.kind == router::ReadingTask::Kind::methods;
        return names ? router::tell_methods(from, to) : work(wanted, from, to);
      });
}

}  // namespace farport::cli
