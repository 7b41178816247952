// Invitation: an agent's address and a bundle for its caller, as one word that can be pasted.
#pragma once

#include <string>
#include <string_view>

#include "auth/credentials.hpp"

namespace farport::auth {

/// The longest invitation, in bytes. A terminal accepts lines of 4,095.
inline constexpr std::size_t kLongestInvitation = 4000;

/// The name in the certificate of an agent that invites, whatever its address: no other agent has a
/// certificate of its CA.
inline constexpr const char* kInvitingAgent = "farport-quickstart";

struct Invitation {
  std::string address;      ///< Not validated here.
  Credentials credentials;  ///< One certificate, its key, and one anchor.
};

/// Writes "farport1,ADDRESS,CERTIFICATE,KEY,CA": DER (RFC 5280; the key in PKCS#8, RFC 5958) in base64 (RFC
/// 4648). Uses the first certificate and the first anchor only. It is as secret as the key; the result is
/// wiped when it is freed. Fails on OpenSSL's errors and on an address with a comma.
[[nodiscard]] Result<BioPtr> write_invitation(const std::string& address, const Credentials& credentials);

/// Parses an invitation. Fails if it is malformed, incomplete, or has a key that doesn't match its
/// certificate.
[[nodiscard]] Result<Invitation> read_invitation(std::string_view text);

}  // namespace farport::auth
