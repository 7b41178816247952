// A dump that a tool has asked for: taken from the agent, and put where the tool wants it.
#pragma once

#include "router/mirror/dump_receiver.hpp"
#include "router/stream/first_message.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// Takes the dump and answers the tool. A tool that goes cancels its dump. `on_taken`: called when there is
/// no more progress, before the tool is told. Errors: it is to be told.
transport::Task<Result<void>> take_dump_for_tool(Log log, SessionManager& sessions, const Runtime& runtime,
                                                 transport::Stream& tool, FirstMessage first,
                                                 OnDumpProgress on_progress, std::function<void()> on_taken);

}  // namespace farport::router
