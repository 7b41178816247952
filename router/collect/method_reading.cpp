#include "router/collect/method_reading.hpp"

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

Task<void> feed(Reading& reading, const std::set<std::uint64_t>& addresses, Recording& recording) {
  std::vector<std::byte> bytes;
  for (const std::uint64_t address : addresses) {
    for (unsigned shift = 0; shift < 64; shift += 8)
      bytes.push_back(static_cast<std::byte>(address >> shift));
  }
  const transport::IoStatus written = co_await reading.write_part(bytes);
  if (written == transport::IoStatus::ok) co_await reading.pass_all_on(recording.stream());
}

Task<Result<NamedMethods>> take_names(Reading& reading) {
  NamedMethods named;
  for (;;) {
    const auto frame = co_await reading.next();
    if (!frame) co_return tl::unexpected(frame.error());
    if (frame->kind == ReaderFrame::end) co_return named;
    if (frame->kind != ReaderFrame::method) continue;
    if (auto method = decode_method(frame->text)) named.add(std::move(*method));
  }
}

}  // namespace

Task<Result<NamedMethods>> read_methods(SessionManager& sessions, std::string runtime_id,
                                        const ReaderProcess& readers, std::vector<std::uint64_t> addresses) {
  const std::set<std::uint64_t> wanted(addresses.begin(), addresses.end());
  Recording recording(sessions, runtime_id);
  const Result<void> begun = co_await recording.begin(wanted_methods());
  if (!begun) co_return tl::unexpected(begun.error());
  Reading reading(sessions.loop(), local_request(ReadingTask::Kind::methods), Reading::For::user);
  const Result<void> reads = reading.begin(readers);
  if (!reads) co_return tl::unexpected(reads.error());
  // What the runtime says at its end may be more than fits before it answers: it is read meanwhile.
  transport::TaskSet working(sessions.loop());
  working.spawn(stop(recording));
  working.spawn(feed(reading, wanted, recording));
  auto named = co_await take_names(reading);
  co_return named;
}

}  // namespace farport::router
