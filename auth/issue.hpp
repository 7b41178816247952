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

/// A certificate and its key. Of a CA, what signs others.
struct Issued {
  X509Ptr certificate;
  EvpPkeyPtr key;
};

/// What to put into a certificate.
struct CertificateRequest {
  Side side = Side::client;
  std::string name;  ///< Common name, at most 64 characters (RFC 5280 appendix A.1).
  std::vector<std::string> dns;
  std::vector<std::string> ips;
  std::vector<std::string> uris;
  Validity validity = Validity::days_from_now(kCertificateDays);
};

/// Whether a certificate may have this common name, which is its files' name too: "ca" is the CA's own.
[[nodiscard]] Result<void> check_name(const std::string& name);

/// Fills in what a server certificate needs and was not given (its name as DNS name or address), and checks
/// every name. Errors name the one that cannot be used.
[[nodiscard]] Result<CertificateRequest> complete_request(CertificateRequest request);

/// A new self-signed CA, which may sign end certificates only (path length 0). Its common name ends in a
/// random part, so that two of them are told apart.
[[nodiscard]] Result<Issued> make_ca(Validity validity = Validity::days_from_now(kCaDays));

/// A certificate signed by `ca`, for the request as complete_request() gives it. It does not outlive the
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

// New files whose mode is what it should be from their first moment.

/// Makes a new file, readable by its owner alone until it is whole, then with `mode`. One that exists is an
/// error; links are not followed. Removes it again if it cannot be written to the end.
[[nodiscard]] Result<void> write_new(const std::string& path, std::string_view text, mode_t mode);

/// Replaces whatever has that name, a link included, in one step.
[[nodiscard]] Result<void> write_over(const std::string& path, std::string_view text, mode_t mode);

/// Memory for text that may be a key: wiped when it is freed.
[[nodiscard]] BioPtr secret_memory();

/// What has been written to memory. Refers to it.
[[nodiscard]] std::string_view text_in(BIO* memory);

}  // namespace farport::auth
