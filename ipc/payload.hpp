// Payloads in general, whatever their command.
#pragma once

#include "ipc/commands.hpp"
#include "ipc/wire.hpp"

namespace farport::ipc {

/// Whether a payload is one of this command, so that a runtime can read it. Fails with what is wrong with it.
/// Commands without a payload, and unknown ones, take any.
[[nodiscard]] Result<void> check_payload(Command command, BytesView payload);

}  // namespace farport::ipc
