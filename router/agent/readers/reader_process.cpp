#include "router/agent/readers/reader_process.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process_limits.hpp"
#include "nettrace/reader.hpp"
#include "router/agent/readers/line_makers.hpp"
#include "router/agent/readers/measurement_frame.hpp"
#include "router/agent/runtimes/port_processes.hpp"

namespace farport::router {
namespace {

/// What of a request has a size of its own; the text follows it.
struct RequestHead {
  ReadingRequest::Kind kind{};
  std::uint64_t memory_bytes = 0;
  std::uint32_t processor_seconds = 0;
};

constexpr std::size_t kReadBytes = 64 * 1024;

/// Writes frames; ends the process where nobody takes them any more.
class FrameWriter {
 public:
  explicit FrameWriter(int to) : to_(to) {}

  void write(ReaderFrame kind, std::string_view text = {}) {
    do {
      const std::string_view piece = text.substr(0, kMostFrame);
      const auto size = static_cast<std::uint32_t>(piece.size());
      std::array<char, kFrameHead> head{static_cast<char>(kind)};
      for (std::size_t i = 1; i < head.size(); ++i) head[i] = static_cast<char>(size >> (8 * (i - 1)));
      write_all({head.data(), head.size()});
      write_all(piece);
      text.remove_prefix(piece.size());
    } while (!text.empty());
  }

 private:
  void write_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(to_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) ::_exit(1);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  int to_;
};

void write_lines(FrameWriter& to, const std::string& lines) {
  if (!lines.empty()) to.write(ReaderFrame::lines, lines);
}

/// Hands what comes, up to its end, to `handler`, and calls `after` for each piece. Errors: it is no
/// recording.
Result<void> read_recording(int from, nettrace::Handler& handler, const std::function<void()>& after) {
  nettrace::Reader reader(handler);
  std::vector<std::byte> piece(kReadBytes);
  for (;;) {
    const ssize_t got = ::read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read", "what the runtime writes", errno);
    if (got == 0) return {};
    const Result<void> fed = reader.feed(std::span(piece).first(static_cast<std::size_t>(got)));
    after();
    if (!fed) return fed;
  }
}

/// Makes the answer. Errors: there is none. Throws std::bad_alloc, as those below.
Result<void> make_answer(const ReadingRequest& wanted, int from, FrameWriter& to) {
  const auto maker = line_maker(wanted);
  if (maker == nullptr) return fail("make", "the answer", "nobody knows how");
  bool told = false;
  Result<void> read = read_recording(from, *maker, [&] {
    write_lines(to, maker->take_lines());
    if (maker->has_enough() && !std::exchange(told, true)) to.write(ReaderFrame::enough);
  });
  if (!read) return read;
  const Result<std::string> end = maker->take_end();
  if (!end) return tl::unexpected(end.error());
  write_lines(to, *end);
  return {};
}

Result<void> tell_measurements(const ReadingRequest& wanted, int from, FrameWriter& to) {
  auto selection = selection_named(wanted.text);
  if (!selection) return tl::unexpected(selection.error());
  events::MeasurementReader values(
      kMeterSession, [&selection](const events::Measurement& each) { return selection->takes(each); });
  std::size_t notices = 0;
  return read_recording(from, values, [&] {
    for (const events::Measurement& each : values.take()) {
      if (const auto text = encode_measurement(each)) to.write(ReaderFrame::measurement, *text);
    }
    for (const std::string& notice : values.take_notices()) {
      if (++notices <= kMostNotices) to.write(ReaderFrame::notice, notice.substr(0, kMostNoticeBytes));
    }
  });
}

void be_reader(const ReadingRequest& wanted, int socket) {
  FrameWriter frames(socket);
  try {
    const bool metrics = wanted.kind == ReadingRequest::Kind::metrics;
    const Result<void> made =
        metrics ? tell_measurements(wanted, socket, frames) : make_answer(wanted, socket, frames);
    if (made) {
      frames.write(ReaderFrame::end);
    } else {
      frames.write(ReaderFrame::failure, made.error().message());
    }
  } catch (const std::bad_alloc&) {
    frames.write(ReaderFrame::memory);
  }
  // Whoever still writes gets no error before this has been read.
  for (std::array<char, 4096> rest{}; ::read(socket, rest.data(), rest.size()) > 0;) {
  }
}

std::string encoded(const ReadingRequest& wanted) {
  const RequestHead head{wanted.kind, wanted.memory_bytes, wanted.processor_seconds};
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + wanted.text;
}

/// None where they are none.
std::optional<ReadingRequest> decoded(std::string_view bytes) {
  RequestHead head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  return ReadingRequest{head.kind, std::string(bytes.substr(sizeof head)), head.memory_bytes,
                        head.processor_seconds};
}

/// The kernel ends a reader before the agent where the memory of both is used up, and gives it the processor
/// after others. The file of a process that hides its memory is root's alone.
void be_ended_first() {
  ::prctl(PR_SET_DUMPABLE, 1);
  const UniqueFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  constexpr std::string_view kMost = "1000";
  std::ignore = ::write(file.get(), kMost.data(), kMost.size());
  ::prctl(PR_SET_DUMPABLE, 0);
  constexpr int kBehindOthers = 10;
  std::ignore = ::setpriority(PRIO_PROCESS, 0, kBehindOthers);
}

}  // namespace

Result<ReaderProcess> ReaderProcess::start(GivenUp given_up) {
  std::function<void()> confine = [secrets = std::move(given_up.secrets),
                                   rights = std::move(given_up.rights)] {
    secrets();
    be_ended_first();
    rights();
  };
  auto run = [rights = std::move(given_up.rights_of_reader)](std::string_view request,
                                                             const std::vector<UniqueFd>& descriptors) {
    const auto wanted = decoded(request);
    if (!wanted || descriptors.size() != 1) return;
    limit_processor_time(wanted->processor_seconds);
    limit_memory(wanted->memory_bytes);
    rights();
    be_reader(*wanted, descriptors.front().get());
  };
  auto process = HelperProcess::start({kReaderName, std::move(confine), std::move(run)});
  if (!process) return tl::unexpected(process.error());
  return ReaderProcess(std::move(*process));
}

Result<UniqueFd> ReaderProcess::begin(const ReadingRequest& wanted) const {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("make", "a pair of sockets", errno);
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK) != 0) return fail_errno("make", "a pair of sockets", errno);
  const std::string bytes = encoded(wanted);
  if (bytes.size() > HelperProcess::kMostRequest)
    return fail("start", "a reader", "too much is asked of it", "name fewer counters");
  const auto begun = process_.begin(bytes, {theirs.get()});
  if (!begun) return tl::unexpected(begun.error());
  return ours;
}

}  // namespace farport::router
