#include "router/agent/recordings/method_reading.hpp"

#include "router/wanted/recordings.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Deadline;
using transport::Task;

/// A runtime that has not begun to tell by then may never do so.
constexpr transport::Milliseconds kBeginLimit{10'000};
constexpr transport::Milliseconds kMethodsLimit{30'000};

Task<std::optional<Refusal>> begin_methods(transport::Loop& loop, InnerRecording& recording) {
  const Deadline limit(loop, kBeginLimit, [&recording] { recording.abandon(); });
  auto refused = co_await recording.begin(wanted_methods());
  co_return refused;
}

}  // namespace

Task<void> pass_methods_on(transport::Loop& loop, InnerRecording& recording, Reading& to) {
  const auto refused = co_await begin_methods(loop, recording);
  if (refused) co_return;
  const Deadline limit(loop, kMethodsLimit, [&recording] { recording.abandon(); });
  // What the runtime says at its end may be more than fits before it answers: it is read meanwhile.
  transport::TaskSet stopping(loop);
  stopping.spawn(recording.stop());
  std::ignore = co_await to.pass_on(recording.stream());
}

}  // namespace farport::router
