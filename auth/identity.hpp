// Identity: who a certificate, or for a local user the kernel, says that a peer is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/x509.h>
#include <sys/types.h>

#include "base/error.hpp"

namespace farport::auth {

/// The names in a verified certificate. Only names that mean one thing to everybody are in here: one with an
/// embedded NUL, a control character, invalid UTF-8, or (for DNS and URI, which are IA5Strings) anything
/// outside printable ASCII is left out, and so never matches a rule.
struct Identity {
  std::string common_name;  ///< Empty where the subject has none, or more than one (which would be meant?).
  std::vector<std::string> organizational_units;
  std::vector<std::string> dns;  ///< Subject alternative names, as written.
  std::vector<std::string> uris;
  std::vector<std::string> ips;  ///< As text: "10.0.0.2", "fd00::2".
  std::string serial;            ///< Hexadecimal, lower case.
  std::string spki_pin;          ///< SHA-256 of the SubjectPublicKeyInfo, base64 (RFC 7469 section 2.4).
  int rejected_names = 0;        ///< How many were left out.
  std::optional<uid_t> local;    ///< A user of this host, who has no certificate and none of the names above.
};

/// Reads the names of a certificate. Says nothing about whether the certificate is to be trusted.
[[nodiscard]] Identity identity_of(const X509* certificate);

/// Who a user of this host is.
[[nodiscard]] Identity identity_of(uid_t user);

/// One line for people and logs: "CN=alice, spiffe://acme.example/ns/prod"; "serial 5f3a…" for a nameless
/// one; "local:1000". Safe to print: without control characters, as an Identity is.
[[nodiscard]] std::string describe(const Identity& identity);

/// Identities as people write them.
/// "CN=alice,OU=oncall,DNS=laptop.example,URI=spiffe://acme.example/alice,PIN=…": what a certificate with
/// these names would be taken for; "LOCAL=1000": a user of the agent's host. Errors name the part that can't
/// be read.
[[nodiscard]] Result<Identity> parse_identity(std::string_view text);

}  // namespace farport::auth
