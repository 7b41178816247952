// Payloads of the Profiler command set.
#pragma once

#include <cstdint>
#include <string>

#include "ipc/wire.hpp"

namespace farport::ipc {

/// AttachProfiler: loads a profiler into a running runtime.
struct AttachProfiler {
  std::uint32_t timeout_ms = 0;
  Guid profiler;
  std::string path;   ///< Of the library, in the runtime's file system.
  Bytes client_data;  ///< Given to the profiler as it is.

  [[nodiscard]] static Result<AttachProfiler> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

/// StartupProfiler: loads one before a suspended runtime starts.
struct StartupProfiler {
  Guid profiler;
  std::string path;  ///< As above.

  [[nodiscard]] static Result<StartupProfiler> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

}  // namespace farport::ipc
