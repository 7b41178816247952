// Taking a dump from an agent: the request, what comes back, and the file that it becomes.
#pragma once

#include <functional>
#include <string>

#include "router/mirror/session_manager.hpp"
#include "router/wire/dump.hpp"

namespace farport::router {

/// Told now and then how far a dump is.
using OnDumpProgress = std::function<void(const DumpProgress&)>;

/// Takes a dump of a runtime into `path`, where it appears when it is whole. Cancelling the task cancels the
/// dump. Errors: what the agent says (`cause` is the HRESULT for a tool, or the HTTP status), or the
/// file can't be written; nothing is left then.
transport::Task<Result<std::uint64_t>> receive_dump(SessionManager& sessions, std::string runtime_id,
                                                    DumpRequest wanted, std::string path,
                                                    OnDumpProgress on_progress);

/// Has a dump written and left where the runtime can see it: its path there.
transport::Task<Result<std::string>> leave_dump(SessionManager& sessions, std::string runtime_id,
                                                DumpRequest wanted, OnDumpProgress on_progress);

}  // namespace farport::router
