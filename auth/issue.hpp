// A small CA: certificates for agents and mirrors where there is no PKI. ECDSA P-256, X.509 v3 (RFC 5280).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "auth/openssl.hpp"
#include "auth/tls_context.hpp"
#include "base/error.hpp"

namespace farport::auth {

inline constexpr int kCaDays = 730;
inline constexpr int kCertificateDays = 90;

/// A certificate and its key. Those of a CA sign others.
struct Issued {
  X509Ptr certificate;
  EvpPkeyPtr key;
};

/// The contents of a certificate to be issued.
struct CertificateRequest {
  Side side = Side::client;
  std::string name;  ///< Common name, at most 64 characters (RFC 5280 appendix A.1).
  std::vector<std::string> dns;
  std::vector<std::string> ips;
  std::vector<std::string> uris;
  Validity validity = Validity::days_from_now(kCertificateDays);
};

/// Checks a common name, which is also the name of its files. "ca" is reserved for the CA.
[[nodiscard]] Result<void> check_name(const std::string& name);

/// Adds the DNS name or address that a server certificate needs, if none was given, and checks every name.
/// Errors name the invalid one.
[[nodiscard]] Result<CertificateRequest> complete_request(CertificateRequest request);

/// Makes a new self-signed CA that may sign end certificates only (path length 0). Its common name ends in a
/// random part, so that CAs can be told apart.
[[nodiscard]] Result<Issued> make_ca(Validity validity = Validity::days_from_now(kCaDays));

/// Makes a certificate signed by `ca`, for a request from complete_request(). It expires no later than the
/// CA's.
[[nodiscard]] Result<Issued> make_certificate(const Issued& ca, const CertificateRequest& request);

/// DIR/NAME.crt and DIR/NAME.key.
struct PairPaths {
  std::string cert;
  std::string key;
};
[[nodiscard]] PairPaths pair_paths(const std::string& directory, const std::string& name);
/// DIR/NAME.pem.
[[nodiscard]] std::string bundle_path(const std::string& directory, const std::string& name);

/// Writes a certificate (mode 0644) and its key (0600, unencrypted PKCS#8). A file that exists is an error,
/// or with `overwrite` replaced by renaming a new one over it; links are not followed.
[[nodiscard]] Result<void> write_pair(const PairPaths& paths, const Issued& issued, bool overwrite);

/// Reads a CA that write_pair() wrote as "ca" in `directory`.
[[nodiscard]] Result<Issued> load_ca(const std::string& directory);

/// Writes a new file. Only its owner may read it until it is complete; then it gets `mode`. Fails if it
/// exists; links are not followed. Removes the file if it can't be written completely.
[[nodiscard]] Result<void> write_new(const std::string& path, std::string_view text, mode_t mode);

/// The same, but atomically replaces whatever has that name, even a link.
[[nodiscard]] Result<void> write_over(const std::string& path, std::string_view text, mode_t mode);

/// A memory BIO for text that may be a key; it is wiped when it is freed.
[[nodiscard]] BioPtr secret_memory();

/// The text written to a memory BIO. Refers to the BIO.
[[nodiscard]] std::string_view text_in(BIO* memory);

}  // namespace farport::auth
