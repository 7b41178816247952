#include "events/type_table.hpp"

#include "events/providers.hpp"

namespace farport::events {
namespace {

constexpr std::uint32_t kBulkType = 15;  ///< In ClrEtwAll.man.
constexpr heap::TypeId kOtherTypes = 0;
/// What a type and the map's node take beside the name.
constexpr std::size_t kTypeEntryBytes = 192;

/// Whether this is the end of an array's name, such as "[]" and "[,]", and not of type arguments.
bool is_array(std::string_view brackets) {
  const std::size_t end = brackets.find_first_not_of(",*", 1);
  return end != std::string_view::npos && brackets[end] == ']';
}

/// "System.Collections.Generic.List<Orders.Order>" of the runtime's
/// "System.Collections.Generic.List`1[Orders.Order]".
std::string readable(std::string_view name) {
  std::string text;
  text.reserve(name.size());
  std::string closing;  // Of the brackets that are open.
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '`') {
      const std::size_t end = name.find_first_not_of("0123456789", at + 1);
      at = std::min(end, name.size()) - 1;
    } else if (name[at] == '[') {
      const bool array = is_array(name.substr(at));
      text += array ? '[' : '<';
      closing += array ? ']' : '>';
    } else if (name[at] == ']' && !closing.empty()) {
      text += closing.back();
      closing.pop_back();
    } else {
      text += name[at];
    }
  }
  return text;
}

}  // namespace

TypeTable::TypeTable() {
  types_.emplace_back().name = "[types beyond the limit]";
  module_of_.push_back(0);
}

void TypeTable::add(const nettrace::Event& event) {
  modules_.add(event);
  if (event.definition.provider == kRuntimeProvider && event.definition.event_id == kBulkType)
    add_types(nettrace::Cursor(event.payload, event.payload_offset));
}

void TypeTable::add_types(nettrace::Cursor in) {
  const std::uint32_t count = in.u32();
  in.u16();  // The runtime's number.
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    const std::uint64_t number = in.u64();
    const std::uint64_t module = in.u64();
    in.u32();  // The name's number.
    in.u32();  // Flags.
    in.u8();   // What kind of type.
    const std::string name = readable(in.utf16());
    const std::uint32_t parameters = in.u32();
    in.take(std::size_t{parameters} * sizeof(std::uint64_t));
    if (in.failed()) return;
    const heap::TypeId type = find_or_add(number);
    if (type == kOtherTypes || !types_[type].name.empty() || !has_room(name.size())) continue;
    types_[type].name = name;
    module_of_[type] = module;
  }
}

heap::TypeId TypeTable::find_or_add(std::uint64_t number) {
  const auto known = by_number_.find(number);
  if (known != by_number_.end()) return known->second;
  if (!has_room(0)) return kOtherTypes;
  const auto added = static_cast<heap::TypeId>(types_.size());
  types_.emplace_back().number = number;
  module_of_.push_back(0);
  by_number_.emplace(number, added);
  return added;
}

void TypeTable::forget_objects() {
  for (heap::Type& type : types_) type.objects = type.bytes = 0;
}

bool TypeTable::has_room(std::size_t bytes) {
  if (held_ + bytes + kTypeEntryBytes > kMostTypeBytes) return false;
  held_ += bytes + kTypeEntryBytes;
  return true;
}

std::vector<heap::Type> TypeTable::take() {
  for (std::size_t type = 0; type < types_.size(); ++type)
    types_[type].module = modules_.name(module_of_[type]);
  return std::move(types_);
}

}  // namespace farport::events
