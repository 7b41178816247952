#include "cli/commands/own_certificate.hpp"

#include "auth/check.hpp"
#include "auth/credentials.hpp"

namespace farport::cli {
namespace {

using Level = Finding::Level;
using router::Diagnosis;

}  // namespace

std::optional<auth::Validity> validity_of_own(const auth::TlsFiles& files) {
  const auto held = auth::load_credentials(files);
  if (!held) return std::nullopt;
  return auth::validity_of(held->chain.front().get());
}

std::vector<Diagnosis> diagnoses_of_own(const auth::TlsFiles& files, const std::optional<Error>& not_loaded) {
  const std::string word(router::step::kCertificate);
  std::vector<Diagnosis> all;
  bool explained = false;
  for (const Finding& finding : auth::check_tls_files(files, auth::Side::client)) {
    if (finding.level != Level::ok) all.push_back({word, finding});
    explained = explained || finding.level == Level::problem;
  }
  if (not_loaded && !explained) all.push_back({word, {Level::problem, not_loaded->message()}});
  if (all.empty()) all.push_back({word, {Level::ok, files.cert + " can be used"}});
  return all;
}

}  // namespace farport::cli
