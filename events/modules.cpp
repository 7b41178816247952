#include "events/modules.hpp"

#include "events/providers.hpp"

namespace farport::events {
namespace {

// The numbers of events in ClrEtwAll.man. A rundown's have the same layout as those of what happens.
constexpr std::uint32_t kModuleLoad = 152;
constexpr std::uint32_t kRundownModuleStart = 153;
constexpr std::uint32_t kRundownModuleEnd = 154;
/// What a map's node takes beside the text.
constexpr std::size_t kModuleEntryBytes = 96;

bool tells_of_module(const nettrace::Definition& definition) {
  if (definition.provider == kRuntimeProvider) return definition.event_id == kModuleLoad;
  return definition.provider == kRundownProvider &&
         (definition.event_id == kRundownModuleStart || definition.event_id == kRundownModuleEnd);
}

/// "/app/orders.dll" is "orders.dll", also where the path is Windows'.
std::string_view file_name_of(std::string_view path) {
  const std::size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

void ModuleTable::add(const nettrace::Event& event) {
  if (!tells_of_module(event.definition)) return;
  nettrace::Cursor in(event.payload, event.payload_offset);
  const std::uint64_t module = in.u64();
  in.u64();  // Its assembly.
  in.u32();  // Flags.
  in.u32();  // Reserved.
  const std::string path = in.utf16();
  const std::string_view name = file_name_of(path);
  if (in.failed() || held_ + name.size() + kModuleEntryBytes > kMostModuleBytes) return;
  held_ += name.size() + kModuleEntryBytes;
  names_.insert_or_assign(module, std::string(name));
}

std::string ModuleTable::name(std::uint64_t module) const {
  const auto known = names_.find(module);
  return known == names_.end() ? std::string() : known->second;
}

}  // namespace farport::events
