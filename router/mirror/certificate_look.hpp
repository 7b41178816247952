// A look at the certificate that an agent shows, whether it can be trusted or not: for saying what is wrong.
#pragma once

#include <optional>
#include <string>

#include "auth/openssl.hpp"
#include "transport/address.hpp"

namespace farport::router {

/// When the certificate is valid that is shown at the address, to who asks for `server_name`. Nothing is
/// verified and nothing shown in return: whoever is there may have made it. None where no TLS server answers
/// in time.
transport::Task<std::optional<auth::Validity>> look_at_certificate(transport::Loop& loop,
                                                                   transport::Address address,
                                                                   std::string server_name);

}  // namespace farport::router
