// The `certs` commands: a small CA and its certificates, for users without a PKI.
#pragma once

#include <string>
#include <vector>

namespace farport::cli {

/// `farport certs init DIR`
struct CertsInitSettings {
  std::string directory;
  bool force = false;  ///< --force: replace a CA that is there already.
};

/// `farport certs server DIR --name N …` and `farport certs client DIR --name N …`
struct CertsIssueSettings {
  std::string directory;          ///< Where ca.crt and ca.key are; the new files go beside them.
  std::string name;               ///< --name: common name, and the files' name.
  std::vector<std::string> dns;   ///< --dns
  std::vector<std::string> ips;   ///< --ip
  std::vector<std::string> uris;  ///< --uri
  bool force = false;             ///< --force: replace files of that name.
};

/// `farport certs bundle DIR --name N …`
struct CertsBundleSettings {
  std::string directory;        ///< Where ca.crt, NAME.crt and NAME.key are.
  std::string name;             ///< --name
  std::string output;           ///< --output; empty: DIR/NAME.pem.
  bool encrypt = false;         ///< --encrypt: ask for a passphrase.
  std::string passphrase_file;  ///< --passphrase-file: encrypt with its first line.
  bool force = false;           ///< --force: replace a file of that name.
};

/// Makes a CA: DIR/ca.crt and DIR/ca.key. Prints what it wrote and what to do next to stdout, an error to
/// stderr. Returns the exit code: 0, or 1 if a file could not be written.
int certs_init(const CertsInitSettings& settings);

/// Issues a certificate for an agent: DIR/NAME.crt and DIR/NAME.key. Without dns and ips the name is the DNS
/// name (or the address, if it is one). Exit code: 0; 1 failed; 2 a name or address that cannot be one.
int certs_server(const CertsIssueSettings& settings);

/// Issues a certificate for a mirror, as certs_server() does for an agent; names besides the common name are
/// optional.
int certs_client(const CertsIssueSettings& settings);

/// Writes NAME.crt, NAME.key and ca.crt to one file for --tls-bundle. Exit codes as for certs_server().
int certs_bundle(const CertsBundleSettings& settings);

}  // namespace farport::cli
