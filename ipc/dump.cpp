#include "ipc/dump.hpp"

namespace farport::ipc {

Result<GenerateCoreDump> GenerateCoreDump::decode(BytesView payload) {
  Reader in(payload, "GenerateCoreDump");
  GenerateCoreDump command;
  command.path = in.string();
  const std::uint32_t type = in.u32();
  if (type < 1 || type > 4) in.reject("unknown type of dump " + std::to_string(type));
  command.type = static_cast<DumpType>(type);
  command.flags = in.u32();
  return in.result(std::move(command));
}

Bytes GenerateCoreDump::encode() const {
  Writer out;
  out.string(path);
  out.u32(static_cast<std::uint32_t>(type));
  out.u32(flags);
  return out.take();
}

}  // namespace farport::ipc
