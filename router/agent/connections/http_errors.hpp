// Telling callers over HTTP that they are refused.
#pragma once

#include <memory>

#include "router/agent/connections/response.hpp"
#include "router/wire/http_status.hpp"
#include "transport/http2/session.hpp"

namespace farport::router {

/// Answers a request with {"error": …}, and with retry-after (RFC 9110 section 10.2.3) where that helps.
transport::Task<void> answer_refused(Response& response, Refusal refusal);

/// For a session that there is no room for: answers whatever it asks with the refusal, for as long as a
/// client takes to ask once, then closes it.
transport::Task<void> refuse_session(std::unique_ptr<transport::Stream> connection, transport::Party party,
                                     Refusal refusal);

/// For a caller that may do nothing at all: says why in a GOAWAY, takes no request, and closes.
transport::Task<void> turn_away(std::unique_ptr<transport::Stream> connection, transport::Party party,
                                std::string why);

}  // namespace farport::router
