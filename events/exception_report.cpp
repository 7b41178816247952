#include "events/exception_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "events/json.hpp"

namespace farport::events {
namespace {

constexpr std::size_t kMostBytes = std::size_t{8} << 20;

std::size_t size_of(const ThrownException& thrown) {
  return sizeof thrown + thrown.type.size() + thrown.message.size() +
         thrown.stack.size() * sizeof thrown.stack.front();
}

}  // namespace

void ExceptionReport::on_event(const nettrace::Event& event) {
  if (!is_exception(event)) return methods_.add(event);
  // About, and before it is read: there may be many more than are kept.
  const bool room = held_ + event.payload.size() + event.stack.size() * sizeof(std::uint64_t) <= kMostBytes;
  if (!room) {
    ++left_out_;
  } else if (auto thrown = read_exception(trace_, event)) {
    held_ += size_of(*thrown);
    on_stacks_.add(thrown->stack);
    thrown_.push_back(std::move(*thrown));
  }
}

void ExceptionReport::on_dropped(const nettrace::Thread& /*thread*/, std::uint32_t events) {
  left_out_ += events;
}

Result<std::string> ExceptionReport::take_end() {
  std::ranges::stable_sort(thrown_, {}, &ThrownException::time);
  std::string lines;
  for (const ThrownException& thrown : thrown_) {
    auto frames = methods_.names_of(thrown.stack);
    drop_dispatch(frames);
    lines += to_json(thrown, frames) + "\n";
  }
  if (left_out_ > 0) lines += fmt::format("{{\"left_out\":{}}}\n", left_out_);
  return lines;
}

}  // namespace farport::events
