// What the audit says of a command beside its name.
#pragma once

#include <string>

#include "ipc/message.hpp"

namespace farport::router {

/// A JSON object with the telling arguments: a trace's providers, a dump's type, a variable's name, a
/// profiler's path. Never a variable's value nor a provider's filter, which may hold secrets. Empty for a
/// command without any; {"unreadable":…} where the payload doesn't fit the command.
[[nodiscard]] std::string telling_arguments(ipc::Command command, ipc::BytesView payload);

}  // namespace farport::router
