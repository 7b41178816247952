#include "cli/setup/tls_files.hpp"

namespace farport::cli {

auth::TlsFiles tls_files(const config::TlsFiles& tls, const auth::IdentityFilter& agent) {
  auth::TlsFiles files = auth::TlsFiles::of_bundle(tls.bundle);
  if (tls.bundle.empty()) files = {tls.cert, tls.key, tls.ca};
  files.crl = tls.crl;
  files.agent = agent;
  files.passphrase_file = tls.passphrase_file;
  files.passphrase = tls.passphrase;
  return files;
}

}  // namespace farport::cli
