// Identity: the names of a peer, from its certificate or, for a local user, from the kernel.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/x509.h>
#include <sys/types.h>

#include "base/error.hpp"

namespace farport::auth {

/// The names in a verified certificate. Ambiguous names are left out and so never match a rule: those with a
/// NUL, a control character or invalid UTF-8, and DNS names and URIs, which are IA5Strings, with anything but
/// printable ASCII.
struct Identity {
  std::string common_name;  ///< Empty if the subject has none or several.
  std::vector<std::string> organizational_units;
  std::vector<std::string> dns;  ///< Subject alternative names, as written.
  std::vector<std::string> uris;
  std::vector<std::string> ips;  ///< As text: "10.0.0.2", "fd00::2".
  std::string serial;            ///< Hexadecimal, lower case.
  std::string spki_pin;          ///< SHA-256 of the SubjectPublicKeyInfo, base64 (RFC 7469 section 2.4).
  int rejected_names = 0;        ///< How many names were left out.
  std::optional<uid_t> local;    ///< A local user, who has no certificate and none of the names above.
};

/// Reads the names in a certificate; does not check whether it is trusted.
[[nodiscard]] Identity identity_of(const X509* certificate);

/// The identity of a local user.
[[nodiscard]] Identity identity_of(uid_t user);

/// One line for people and logs: "CN=alice, spiffe://acme.example/ns/prod", "serial 5f3a…" if there is no
/// name, or "local:1000". It has no control characters, since an Identity has none.
[[nodiscard]] std::string describe(const Identity& identity);

/// Parses an identity as people write it:
/// "CN=alice,OU=oncall,DNS=laptop.example,URI=spiffe://acme.example/alice,PIN=…" for a certificate with these
/// names, or "LOCAL=1000" for a user of the agent's host. Errors name the part that can't be parsed.
[[nodiscard]] Result<Identity> parse_identity(std::string_view text);

}  // namespace farport::auth
