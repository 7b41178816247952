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
#include "events/methods.hpp"
#include "nettrace/reader.hpp"
#include "router/agent/readers/line_makers.hpp"
#include "router/agent/readers/measurement_frame.hpp"
#include "router/agent/runtimes/port_processes.hpp"
#include "router/cpu_samples/cpu_samples.hpp"
#include "router/wanted/method_events.hpp"
#include "router/wire/sample_reader.hpp"

namespace farport::router {
namespace {

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

/// What comes, piece by piece.
class Input {
 public:
  explicit Input(int from) : from_(from), piece_(kReadBytes) {}

  using Piece = std::span<const std::byte>;

  /// Empty: there is no more. Valid until the next one. Errors: the system's.
  [[nodiscard]] Result<Piece> next() { return read_some(piece_); }
  /// The same of a part.
  [[nodiscard]] Result<Piece> next_of_part() {
    const auto head = read_whole(kPieceHead);
    if (!head) return tl::unexpected(head.error());
    std::uint32_t size = 0;
    for (std::size_t i = kPieceHead; i-- > 0;)
      size = (size << 8U) | std::to_integer<std::uint32_t>((*head)[i]);
    if (size > piece_.size()) return fail("read", "what the agent passes on", "it is malformed");
    return read_whole(size);
  }

 private:
  [[nodiscard]] Result<Piece> read_some(std::span<std::byte> into) const {
    for (;;) {
      const ssize_t got = ::read(from_, into.data(), into.size());
      if (got >= 0) return Piece(into).first(static_cast<std::size_t>(got));
      if (errno != EINTR) return fail_errno("read", "what the agent passes on", errno);
    }
  }
  [[nodiscard]] Result<Piece> read_whole(std::size_t size) {
    const std::span<std::byte> whole = std::span(piece_).first(size);
    for (std::size_t have = 0; have < size;) {
      const auto got = read_some(whole.subspan(have));
      if (!got) return tl::unexpected(got.error());
      if (got->empty()) return fail("read", "what the agent passes on", "it breaks off");
      have += got->size();
    }
    return whole;
  }

  int from_;
  std::vector<std::byte> piece_;
};

/// Hands what comes, up to its end, to `handler`, and calls `after` for each piece. Errors: it is no
/// recording.
Result<void> read_recording(Input& from, nettrace::Handler& handler, const std::function<void()>& after) {
  nettrace::Reader reader(handler);
  for (;;) {
    const auto piece = from.next();
    if (!piece) return tl::unexpected(piece.error());
    if (piece->empty()) return {};
    const Result<void> fed = reader.feed(*piece);
    after();
    if (!fed) return fed;
  }
}

/// Makes the answer. Errors: there is none. Throws std::bad_alloc, as those below.
Result<void> make_answer(const ReadingRequest& wanted, Input& from, FrameWriter& to) {
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

Result<void> tell_measurements(const ReadingRequest& wanted, Input& from, FrameWriter& to) {
  auto selection = selection_named(wanted.text);
  if (!selection) return tl::unexpected(selection.error());
  events::MeasurementReader values(
      kMeterSession, [&selection](const events::Measurement& each) { return selection->takes(each); });
  return read_recording(from, values, [&] {
    for (const events::Measurement& each : values.take()) {
      if (const auto text = encode_measurement(each)) to.write(ReaderFrame::measurement, *text);
    }
    for (const std::string& notice : values.take_notices()) {
      to.write(ReaderFrame::notice, notice.substr(0, kMostNoticeBytes));
    }
  });
}

/// Samples, which are a part. Errors: they are none, or have no end.
Result<void> read_samples(Input& from, CpuSamples& to) {
  SampleReader reader(to);
  for (;;) {
    const auto piece = from.next_of_part();
    if (!piece) return tl::unexpected(piece.error());
    if (piece->empty()) break;
    const Result<void> read = reader.read(*piece);
    if (!read) return read;
  }
  if (!reader.ended()) return fail("read", "the samples", "they have no end");
  return {};
}

/// Methods that the runtime does not tell have their addresses.
void read_methods(Input& from, events::MethodTable& to) {
  MethodEvents methods(to);
  std::ignore = read_recording(from, methods, [] {});
}

Result<void> make_profile(const ReadingRequest& wanted, Input& from, FrameWriter& to) {
  CpuSamples samples;
  const Result<void> read = read_samples(from, samples);
  if (!read) return tl::unexpected(read.error());
  events::CodeAddresses sampled;
  for (const SampledCall& call : samples.calls()) sampled.add(call.address);
  events::MethodTable methods(sampled);
  read_methods(from, methods);
  profile::Profile made;
  made.process = wanted.text;
  made.pid = wanted.pid;
  samples.add_to(made, [&](std::uint64_t address) { return methods.frame_at(address); });
  return profile::write_profile(made, wanted.form, [&](std::string_view piece) -> Result<void> {
    to.write(ReaderFrame::lines, piece);
    return {};
  });
}

Result<void> make(const ReadingRequest& wanted, int socket, FrameWriter& to) {
  Input from(socket);
  if (wanted.kind == ReadingRequest::Kind::metrics) return tell_measurements(wanted, from, to);
  if (wanted.kind == ReadingRequest::Kind::profile) return make_profile(wanted, from, to);
  return make_answer(wanted, from, to);
}

void be_reader(const ReadingRequest& wanted, int socket) {
  FrameWriter frames(socket);
  try {
    const Result<void> made = make(wanted, socket, frames);
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
  const ReadingTask& task = wanted;
  return std::string(reinterpret_cast<const char*>(&task), sizeof task) + wanted.text;
}

/// None where they are none.
std::optional<ReadingRequest> decoded(std::string_view bytes) {
  ReadingTask task;
  if (bytes.size() < sizeof task) return std::nullopt;
  std::memcpy(&task, bytes.data(), sizeof task);
  return ReadingRequest{task, std::string(bytes.substr(sizeof task))};
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

Result<ReaderEnds> ReaderProcess::begin(const ReadingRequest& wanted) const {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("make", "a pair of sockets", errno);
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK) != 0) return fail_errno("make", "a pair of sockets", errno);
  const std::string bytes = encoded(wanted);
  if (bytes.size() > HelperProcess::kMostRequest)
    return fail("start", "a reader", "too much is asked of it", "name fewer counters");
  auto lifeline = process_.begin(bytes, {theirs.get()});
  if (!lifeline) return tl::unexpected(lifeline.error());
  return ReaderEnds{std::move(ours), std::move(*lifeline)};
}

}  // namespace farport::router
