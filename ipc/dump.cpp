#include "ipc/dump.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace farport::ipc {
namespace {

constexpr std::array<std::pair<DumpType, std::string_view>, 4> kTypes{{
    {DumpType::normal, "mini"},
    {DumpType::with_heap, "heap"},
    {DumpType::triage, "triage"},
    {DumpType::full, "full"},
}};

}  // namespace

std::string_view name_of(DumpType type) {
  return kTypes[static_cast<std::size_t>(type) - 1].second;
}

std::optional<DumpType> dump_type_named(std::string_view name) {
  const auto* const found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.second == name; });
  if (found == kTypes.end()) return std::nullopt;
  return found->first;
}

bool is_core_dump(Command command) {
  return command == kGenerateCoreDump || command == kGenerateCoreDump2 || command == kGenerateCoreDump3;
}

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
