#include "auth/credentials.hpp"

#include "auth/bundle.hpp"

namespace farport::auth {

Result<Credentials> load_credentials(const TlsFiles& files) {
  if (files.bundled) return load_bundle(files);
  auto credentials = load_pair(files.cert, files.key);
  if (!credentials) return credentials;
  auto anchors = load_certificates(files.ca);
  if (!anchors) return tl::unexpected(anchors.error());
  credentials->anchors = std::move(*anchors);
  return credentials;
}

}  // namespace farport::auth
