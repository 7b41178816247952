// Refusing: how callers are told, and what is noted of it.
#pragma once

#include <memory>

#include "router/agent/connections/answer.hpp"
#include "router/agent/connections/diagnostic_connection.hpp"
#include "router/agent/gate/limits.hpp"
#include "transport/http2_session.hpp"

namespace farport::router {

/// Notes that a caller has reached a limit: counted always, logged and audited once a minute for each limit
/// and identity, so that a flood can't fill the disk. Returns what to tell the caller.
Refusal note_exceeded(AgentServices& services, const Caller& caller, const Exceeded& exceeded);

/// The same for what is ended rather than refused: nobody is told.
void note_ended(AgentServices& services, const Caller& caller, const Exceeded& exceeded);

/// Notes a handshake that failed for `why`; `kind` is one of Metrics' reasons. Counted always, logged and
/// audited at most ten times a minute for each host and cause.
void note_failed_handshake(AgentServices& services, const Caller& caller, const std::string& why,
                           std::string_view kind);

/// Answers a request with {"error": …}, and with retry-after (RFC 9110 section 10.2.3) where that helps.
transport::Task<void> answer_refused(Answer& answer, Refusal refusal);

/// Notes a refused request or command in the log, a few times a minute for each identity: a flood fills no
/// disk. `what`: the beginning of the line, "refused GET /v1/agent".
void note_refused(AgentServices& services, const Caller& caller, const std::string& what,
                  const std::string& why);

/// Notes a caller that has no grant: counted always, logged and audited a few times a minute for each
/// identity. Returns what to tell it.
Refusal note_no_role(AgentServices& services, const Caller& caller);

/// For a session that there is no room for: answers whatever it asks with the refusal, for as long as a
/// client takes to ask once, then closes it.
transport::Task<void> refuse_session(AgentServices& services, std::unique_ptr<transport::Stream> connection,
                                     const Caller& caller, Refusal refusal);

/// For a caller that may do nothing at all: says why in a GOAWAY, takes no request, and closes.
transport::Task<void> turn_away(AgentServices& services, std::unique_ptr<transport::Stream> connection,
                                std::string why);

}  // namespace farport::router
