#include "router/agent/recordings/method_reading.hpp"

#include "router/wanted/method_events.hpp"
#include "router/wanted/recordings.hpp"

namespace farport::router {
using transport::Task;

Task<Result<void>> read_methods(transport::Loop& loop, DiagnosticConnections& connections,
                                const Caller& caller, RuntimePtr runtime, events::MethodTable& to) {
  const std::string name = runtime->name;
  InnerRecording recording(loop, connections, caller, std::move(runtime));
  const auto refused = co_await recording.begin(wanted_methods());
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
