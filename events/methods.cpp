#include "events/methods.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "events/providers.hpp"
#include "nettrace/append.hpp"

namespace farport::events {
namespace {

// Event ids in ClrEtwAll.man. Rundown events have the same layout as the original ones.
constexpr std::uint32_t kModuleLoad = 152;
constexpr std::uint32_t kRundownModuleStart = 153;
constexpr std::uint32_t kRundownModuleEnd = 154;
/// Cost of a map node without the text.
constexpr std::size_t kModuleEntryBytes = 96;

bool tells_of_module(const nettrace::Definition& definition) {
  if (definition.provider == kRuntimeProvider) return definition.event_id == kModuleLoad;
  return definition.provider == kRundownProvider &&
         (definition.event_id == kRundownModuleStart || definition.event_id == kRundownModuleEnd);
}

/// "orders.dll" for "/app/orders.dll" or a Windows path.
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
  if (in.failed() || held_ + name.size() + kModuleEntryBytes > kMaxModuleBytes) return;
  held_ += name.size() + kModuleEntryBytes;
  names_.insert_or_assign(module, std::string(name));
}

std::string ModuleTable::name(std::uint64_t module) const {
  const auto known = names_.find(module);
  return known == names_.end() ? std::string() : known->second;
}

namespace {

// Event ids in ClrEtwAll.man. Rundown events have the same layout as the original ones.
constexpr std::uint32_t kRundownMethodEnd = 144;  // MethodDCEndVerbose.
/// The flag of compiled code: readers take others for what has no code.
constexpr std::uint32_t kJitted = 8;
/// Cost of a map node without the text.
constexpr std::size_t kEntryBytes = 160;
constexpr std::size_t kMaxAddresses = std::size_t{1} << 17;

void remove_all(std::string& text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at))
    text.erase(at, word.size());
}

/// "(int32,System.String)" for a signature such as "instance void  (int32,class System.String)". The keywords
/// "class" and "value class" are left out.
std::string parameters_of(std::string_view signature) {
  const std::size_t begin = signature.find('(');
  std::string parameters(begin == std::string_view::npos ? std::string_view() : signature.substr(begin));
  remove_all(parameters, "value class ");
  remove_all(parameters, "class ");
  return parameters;
}

}  // namespace

std::vector<std::byte> method_load(std::uint64_t id, std::uint64_t begin, std::uint32_t size,
                                   nettrace::BytesView names) {
  std::vector<std::byte> load;
  nettrace::append(load, id);
  nettrace::append(load, std::uint64_t{0});  // Its module is not told.
  nettrace::append(load, begin);
  nettrace::append(load, size);
  nettrace::append(load, std::uint32_t{0});  // Its token, neither.
  nettrace::append(load, kJitted);
  nettrace::append(load, names);
  nettrace::append(load, std::uint16_t{0});  // Which runtime of the process.
  nettrace::append(load, std::uint64_t{0});  // Which compilation.
  return load;
}

bool tells_of_method(const nettrace::Definition& definition) {
  if (definition.provider == kRuntimeProvider) return definition.event_id == kMethodLoadVerbose;
  return definition.provider == kRundownProvider &&
         (definition.event_id == kMethodLoadVerbose || definition.event_id == kRundownMethodEnd);
}

void CodeAddresses::add(const std::vector<std::uint64_t>& addresses) {
  if (addresses_.size() + addresses.size() > kMaxAddresses) return;
  addresses_.insert(addresses.begin(), addresses.end());
}

void CodeAddresses::add(std::uint64_t address) {
  if (addresses_.size() < kMaxAddresses) addresses_.insert(address);
}

bool CodeAddresses::any_in(std::uint64_t begin, std::uint64_t end) const {
  const auto next = addresses_.lower_bound(begin);
  return next != addresses_.end() && *next < end;
}

namespace {

/// Where the code of an event's method is, and its module.
Method read_place(nettrace::Cursor& in) {
  Method method;
  in.u64();  // The method's id.
  method.module = in.u64();
  method.begin = in.u64();
  method.end = method.begin + in.u32();
  return method;
}

/// The rest of such an event. Empty if it is malformed.
std::optional<Method> read_name(nettrace::Cursor& in, Method method) {
  in.u32();  // Its token.
  in.u32();  // Flags.
  method.name = in.utf16();
  const std::string name = in.utf16();
  const std::string signature = in.utf16();
  if (in.failed() || method.end <= method.begin) return std::nullopt;
  if (!method.name.empty()) method.name += '.';
  method.name += name;
  method.name += parameters_of(signature);
  return method;
}

}  // namespace

std::optional<Method> read_method(const nettrace::Event& event) {
  if (!tells_of_method(event.definition)) return std::nullopt;
  nettrace::Cursor in(event.payload, event.payload_offset);
  Method place = read_place(in);
  return read_name(in, std::move(place));
}

void MethodTable::add(const nettrace::Event& event) {
  if (tells_of_method(event.definition)) add_method(event);
  modules_.add(event);
}

void MethodTable::add_method(const nettrace::Event& event) {
  nettrace::Cursor in(event.payload, event.payload_offset);
  Method place = read_place(in);
  // Most methods of a rundown are not wanted, and their names are not read.
  if (wanted_ != nullptr && !wanted_->any_in(place.begin, place.end)) return;
  auto method = read_name(in, std::move(place));
  if (!method || !has_room(method->name.size())) return;
  methods_.insert_or_assign(method->begin, std::move(*method));
}

bool MethodTable::has_room(std::size_t bytes) {
  if (held_ + bytes + kEntryBytes > kMaxMethodBytes) return false;
  held_ += bytes + kEntryBytes;
  return true;
}

const Method* MethodTable::find(std::uint64_t address) const {
  auto next = methods_.upper_bound(address);
  if (next == methods_.begin()) return nullptr;
  const Method& method = std::prev(next)->second;
  return address < method.end ? &method : nullptr;
}

std::string MethodTable::name_of(std::uint64_t address) const {
  const Method* const method = find(address);
  return method == nullptr ? fmt::format("{:#x}", address) : method->name;
}

std::vector<std::string> MethodTable::names_of(const std::vector<std::uint64_t>& addresses) const {
  std::vector<std::string> names;
  names.reserve(addresses.size());
  for (const std::uint64_t address : addresses) names.push_back(name_of(address));
  return names;
}

std::optional<profile::Frame> MethodTable::frame_at(std::uint64_t address) const {
  const Method* const method = find(address);
  if (method == nullptr) return std::nullopt;
  profile::Frame frame;
  frame.kind = profile::FrameKind::managed;
  frame.name = method->name;
  frame.module = module_name(method->module);
  return frame;
}

profile::Frame MethodTable::frame_of(std::uint64_t address) const {
  profile::Frame unknown;
  unknown.kind = profile::FrameKind::managed;
  unknown.address = address;
  return frame_at(address).value_or(unknown);
}

}  // namespace farport::events
