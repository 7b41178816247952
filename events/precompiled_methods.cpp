#include "events/precompiled_methods.hpp"

#include <algorithm>
#include <utility>

#include "nettrace/cursor.hpp"
#include "nettrace/framing.hpp"

namespace farport::events {
namespace {

constexpr std::uint32_t kEntryPoint = 159;  // R2RGetEntryPoint
/// Cost of a map node without its bytes.
constexpr std::size_t kPrecompiledBytes = 96;
/// Hardly a method has more code. Where the next one is not known, code behind it may get its name up to
/// that.
constexpr std::uint64_t kMaxCode = std::uint64_t{16} << 10;

}  // namespace

void PrecompiledMethods::on_event(const nettrace::Event& event) {
  const nettrace::Definition& kind = event.definition;
  if (kind.provider == kRuntimeProvider && kind.event_id == kEntryPoint) return add_first_use(event);
  if (tells_of_method(kind)) add_named(event);
}

PrecompiledMethods::Method* PrecompiledMethods::method_at(std::uint64_t begin, std::size_t bytes) {
  const auto known = by_begin_.find(begin);
  if (known != by_begin_.end()) return &known->second;
  if (held_ + kPrecompiledBytes + bytes > kMaxBytes) return nullptr;
  held_ += kPrecompiledBytes + bytes;
  return &by_begin_[begin];
}

void PrecompiledMethods::add_first_use(const nettrace::Event& event) {
  nettrace::Cursor in(event.payload, event.payload_offset);
  Method method{in.u64(), {}};
  const std::size_t names_begin = event.payload.size() - in.remaining();
  for (int part = 0; part < 3; ++part) in.utf16();  // Namespace, name, signature.
  const std::size_t names_end = event.payload.size() - in.remaining();
  const std::uint64_t begin = in.u64();
  // It is 0 where there is no such code after all.
  if (in.failed() || begin == 0 || by_begin_.contains(begin)) return;
  const auto names = event.payload.subspan(names_begin, names_end - names_begin);
  method.names.assign(names.begin(), names.end());
  Method* const kept = method_at(begin, names.size());
  if (kept != nullptr) *kept = std::move(method);
}

void PrecompiledMethods::add_named(const nettrace::Event& event) {
  nettrace::Cursor in(event.payload, event.payload_offset);
  in.u64();  // The method's id.
  in.u64();  // Its module.
  const std::uint64_t begin = in.u64();
  if (in.failed()) return;
  Method* const kept = method_at(begin, 0);
  if (kept == nullptr) return;
  held_ -= kept->names.size();
  kept->names = {};
}

std::vector<std::vector<std::byte>> PrecompiledMethods::take_loads() {
  std::vector<std::vector<std::byte>> loads;
  for (std::size_t bytes = 0; !by_begin_.empty() && bytes < nettrace::kUsualBlockBytes;) {
    const auto [begin, method] = std::move(*by_begin_.begin());
    by_begin_.erase(by_begin_.begin());
    if (method.names.empty()) continue;
    const std::uint64_t up_to_next = by_begin_.empty() ? kMaxCode : by_begin_.begin()->first - begin;
    const auto size = static_cast<std::uint32_t>(std::min(up_to_next, kMaxCode));
    auto load = method_load(method.id, begin, size, method.names);
    bytes += load.size();
    loads.push_back(std::move(load));
  }
  return loads;
}

}  // namespace farport::events
