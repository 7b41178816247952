#include "auth/tls_files.hpp"

namespace farport::auth {

TlsFiles TlsFiles::of_bundle(const std::string& path) {
  TlsFiles files{path, path, path};
  files.bundled = true;
  return files;
}

std::vector<std::string> TlsFiles::paths() const {
  std::vector<std::string> all{cert};
  if (!bundled) all.insert(all.end(), {key, ca});
  for (const std::string& path : {crl, passphrase_file}) {
    if (!path.empty()) all.push_back(path);
  }
  return all;
}

}  // namespace farport::auth
