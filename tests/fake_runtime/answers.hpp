// Payloads of a runtime's answers, which farport only decodes.
#pragma once

#include <string>
#include <vector>

#include "ipc/payload.hpp"

namespace farport::ipc {

/// The inverse of decode_environment().
[[nodiscard]] inline Bytes encode_environment(const std::vector<std::string>& variables) {
  Writer out;
  out.count(variables.size());
  for (const std::string& variable : variables) out.string(variable);
  return out.take();
}

/// The inverse of decode_process_info().
[[nodiscard]] inline Bytes encode_process_info(Command command, const ProcessInfo& info) {
  Writer out;
  // The layout's version. Later ones only append fields.
  if (command == kProcessInfo3) out.u32(1);
  out.u64(info.pid);
  out.guid(info.cookie);
  out.string(info.command_line);
  out.string(info.os);
  out.string(info.architecture);
  if (command != kProcessInfo) {
    out.string(info.entry_assembly);
    out.string(info.clr_version);
  }
  if (command == kProcessInfo3) out.string(info.runtime_identifier);
  return out.take();
}

}  // namespace farport::ipc
