#include "router/agent/recordings/method_reading.hpp"

#include "router/wanted/method_events.hpp"
#include "router/wanted/recordings.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Task;

/// A runtime that has not begun to tell by then may never do so.
constexpr transport::Milliseconds kBeginLimit{10'000};

Task<std::optional<Refusal>> begin_in_time(transport::Loop& loop, InnerRecording& recording) {
  const transport::Deadline limit(loop, kBeginLimit, [&recording] { recording.abandon(); });
  auto refused = co_await recording.begin(wanted_methods());
  if (refused && limit.expired()) refused->why = "it does not answer";
  co_return refused;
}

}  // namespace

Task<Result<void>> read_methods(transport::Loop& loop, DiagnosticConnections& connections,
                                const Caller& caller, RuntimePtr runtime, events::MethodTable& to) {
  if (runtime->state == RuntimeState::suspended) co_return tl::unexpected(is_suspended(*runtime));
  const std::string name = runtime->name;
  InnerRecording recording(loop, connections, caller, std::move(runtime));
  const auto refused = co_await begin_in_time(loop, recording);
  Result<void> told;
  if (refused) {
    told = fail("name the methods of", name, refused->why);
  } else {
    // What the runtime says at its end may be more than fits before it answers: it is read meanwhile.
    transport::TaskSet stopping(loop);
    stopping.spawn(recording.stop());
    told = co_await read_method_events(recording.stream(), to);
  }
  co_await recording.end();
  co_return told;
}

}  // namespace farport::router
