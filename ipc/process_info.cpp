#include "ipc/process_info.hpp"

namespace farport::ipc {
namespace {

/// Of ProcessInfo3's layout. Later ones only append to it.
constexpr std::uint32_t kLayoutVersion = 1;

}  // namespace

Result<ProcessInfo> decode_process_info(Command command, BytesView payload) {
  if (command != kProcessInfo && command != kProcessInfo2 && command != kProcessInfo3) {
    return fail("decode", describe(command), "its answer holds no process information");
  }
  const std::string name = "the answer to " + describe(command);
  Reader in(payload, name);
  ProcessInfo info;
  if (command == kProcessInfo3) in.u32();
  info.pid = in.u64();
  info.cookie = in.guid();
  info.command_line = in.string();
  info.os = in.string();
  info.architecture = in.string();
  if (command != kProcessInfo) {
    info.entry_assembly = in.string();
    info.clr_version = in.string();
  }
  if (command == kProcessInfo3) info.runtime_identifier = in.string();
  return in.result(std::move(info));
}

Bytes encode_process_info(Command command, const ProcessInfo& info) {
  Writer out;
  if (command == kProcessInfo3) out.u32(kLayoutVersion);
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
