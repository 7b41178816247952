#include "ipc/profiler.hpp"

namespace farport::ipc {

Result<AttachProfiler> AttachProfiler::decode(BytesView payload) {
  Reader in(payload, "AttachProfiler");
  AttachProfiler command;
  command.timeout_ms = in.u32();
  command.profiler = in.guid();
  command.path = in.string();
  command.client_data = in.byte_array();
  return in.whole_result(std::move(command));
}

Bytes AttachProfiler::encode() const {
  Writer out;
  out.u32(timeout_ms);
  out.guid(profiler);
  out.string(path);
  out.count(client_data.size());
  out.bytes(client_data);
  return out.take();
}

Result<StartupProfiler> StartupProfiler::decode(BytesView payload) {
  Reader in(payload, "StartupProfiler");
  StartupProfiler command;
  command.profiler = in.guid();
  command.path = in.string();
  return in.whole_result(std::move(command));
}

Bytes StartupProfiler::encode() const {
  Writer out;
  out.guid(profiler);
  out.string(path);
  return out.take();
}

}  // namespace farport::ipc
