#include "router/collect/event_reading.hpp"

#include "router/wanted/method_events.hpp"
#include "router/wanted/recordings.hpp"
#include "transport/task_set.hpp"

namespace farport::router {
namespace {

using transport::Task;

Task<void> stop(Recording& recording) {
  const Result<void> stopped = co_await recording.stop();
  if (!stopped) recording.stream().abort(stopped.error());
}

}  // namespace

Task<Result<void>> read_methods(SessionManager& sessions, std::string runtime_id, events::MethodTable& to) {
  Recording recording(sessions, runtime_id);
  const Result<void> begun = co_await recording.begin(wanted_methods());
  if (!begun) co_return begun;
  // What the runtime says at its end may be more than fits before it answers: it is read meanwhile.
  transport::TaskSet stopping(sessions.loop());
  stopping.spawn(stop(recording));
  const Result<void> read = co_await read_method_events(recording.stream(), to);
  co_return read;
}

}  // namespace farport::router
