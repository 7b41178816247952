#include "events/exceptions.hpp"

#include <algorithm>
#include <string_view>

#include "events/providers.hpp"

namespace farport::events {
namespace {

constexpr std::uint32_t kExceptionThrown = 80;
// From ExceptionThrownFlags in ClrEtwAll.man.
constexpr unsigned kNested = 0x2;
constexpr unsigned kRethrown = 0x4;

}  // namespace

bool is_exception(const nettrace::Event& event) {
  return event.definition.event_id == kExceptionThrown && event.definition.provider == kRuntimeProvider;
}

std::optional<ThrownException> read_exception(const nettrace::TraceHeader& trace,
                                              const nettrace::Event& event) {
  if (!is_exception(event)) return std::nullopt;
  nettrace::Cursor in(event.payload, event.payload_offset);
  ThrownException thrown;
  thrown.type = in.utf16();
  thrown.message = in.utf16();
  trace.pointer_size == 4 ? in.u32() : in.u64();  // Where it was thrown; also in the stack.
  thrown.hresult = in.u32();
  const unsigned flags = in.u16();
  if (in.failed()) return std::nullopt;
  thrown.rethrown = (flags & kRethrown) != 0;
  thrown.nested = (flags & kNested) != 0;
  thrown.time = time_of(trace, event);
  thrown.thread = event.thread.id;
  thrown.stack.reserve(event.stack.size());
  for (std::size_t at = 0; at < event.stack.size(); ++at) thrown.stack.push_back(event.stack[at]);
  return thrown;
}

void drop_dispatch(std::vector<std::string>& frames) {
  const auto is_own = [](const std::string& frame) {
    return std::string_view(frame).substr(frame.find('!') + 1).starts_with("System.Runtime.EH.");
  };
  frames.erase(frames.begin(), std::find_if_not(frames.begin(), frames.end(), is_own));
}

}  // namespace farport::events
