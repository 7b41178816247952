#include "router/collect/method_reading.hpp"

#include <optional>
#include <set>

#include "router/readers/reading.hpp"
#include "router/wanted/recordings.hpp"
#include "transport/task_set.hpp"

namespace farport::router {
namespace {

using transport::Task;

Task<void> stop(Recording& recording) {
  const Result<void> stopped = co_await recording.stop();
  if (!stopped) recording.stream().abort(stopped.error());
}

/// A recording that breaks off is read up to there.
Task<void> feed(Reading& reading, const std::set<std::uint64_t>& addresses, Recording& recording,
                std::optional<Error>& broken) {
  std::vector<std::byte> bytes;
  for (const std::uint64_t address : addresses) {
    for (unsigned shift = 0; shift < 64; shift += 8)
      bytes.push_back(static_cast<std::byte>(address >> shift));
  }
  const transport::IoStatus written = co_await reading.write_part(bytes);
  if (written != transport::IoStatus::ok) co_return;
  const Reading::Passed passed = co_await reading.pass_on(recording.stream());
  if (passed == Reading::Passed::failed) broken = recording.stream().error();
  if (passed != Reading::Passed::not_taken) co_await reading.finish();
}

Task<Result<void>> take_names(Reading& reading, NamedMethods& to) {
  for (;;) {
    const auto frame = co_await reading.next();
    if (!frame) co_return tl::unexpected(frame.error());
    if (frame->kind == ReaderFrame::end) co_return Result<void>();
    if (frame->kind != ReaderFrame::method) continue;
    if (auto method = decode_method(frame->text)) to.add(std::move(*method));
  }
}

}  // namespace

Task<Result<void>> read_methods(SessionManager& sessions, std::string runtime_id,
                                const ReaderProcess& readers, std::vector<std::uint64_t> addresses,
                                NamedMethods& to) {
  const std::set<std::uint64_t> wanted(addresses.begin(), addresses.end());
  Recording recording(sessions, runtime_id);
  const Result<void> begun = co_await recording.begin(wanted_methods());
  if (!begun) co_return begun;
  Reading reading(sessions.loop(), local_request(ReadingTask::Kind::methods), Reading::For::user);
  const Result<void> reads = reading.begin(readers);
  if (!reads) co_return reads;
  std::optional<Error> broken;
  // What the runtime says at its end may be more than fits before it answers: it is read meanwhile.
  transport::TaskSet working(sessions.loop());
  working.spawn(stop(recording));
  working.spawn(feed(reading, wanted, recording, broken));
  const Result<void> named = co_await take_names(reading, to);
  if (named && broken) co_return tl::unexpected(*broken);
  co_return named;
}

}  // namespace farport::router
