// What a runtime says of itself: the answers to ProcessInfo, ProcessInfo2 and ProcessInfo3, as one structure.
#pragma once

#include <cstdint>
#include <string>

#include "ipc/commands.hpp"
#include "ipc/wire.hpp"

namespace farport::ipc {

struct ProcessInfo {
  std::uint64_t pid = 0;  ///< In the runtime's own pid namespace.
  Guid cookie;
  std::string command_line;
  std::string os;                  ///< "Linux", "Windows", "macOS".
  std::string architecture;        ///< "x64", "arm64".
  std::string entry_assembly;      ///< Empty where only ProcessInfo was answered.
  std::string clr_version;         ///< The product version: "10.0.0"; empty as above.
  std::string runtime_identifier;  ///< "linux-x64"; empty where ProcessInfo3 was not answered.
};

/// Reads the payload of the OK answer to `command`: kProcessInfo, kProcessInfo2 or kProcessInfo3 (any other
/// fails).
[[nodiscard]] Result<ProcessInfo> decode_process_info(Command command, BytesView payload);
/// The payload of the answer to `command`, one of the three.
[[nodiscard]] Bytes encode_process_info(Command command, const ProcessInfo& info);

}  // namespace farport::ipc
