// Invitations: an agent's address and a bundle for its caller, as one word that can be pasted.
#pragma once

#include <string>
#include <string_view>

#include "auth/credentials.hpp"

namespace farport::auth {

/// No invitation is longer, in bytes. A terminal takes a line of 4,095.
inline constexpr std::size_t kLongestInvitation = 4000;

struct Invitation {
  std::string address;      ///< As it stands there: it is not looked at here.
  Credentials credentials;  ///< One certificate, its key, and one anchor.
};

/// "farport1,ADDRESS,CERTIFICATE,KEY,CA": DER (RFC 5280; the key PKCS#8, RFC 5958) in base64 (RFC 4648). It
/// is as secret as the key: what is returned is wiped when it is freed. Of the credentials only the first
/// certificate and the first anchor count. Errors: OpenSSL's; an address with a comma.
[[nodiscard]] Result<BioPtr> write_invitation(const std::string& address, const Credentials& credentials);

/// The reverse. Errors: it is something else, not whole, or its key is not its certificate's.
[[nodiscard]] Result<Invitation> read_invitation(std::string_view text);

}  // namespace farport::auth
