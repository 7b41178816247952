#include "router/readers/answers.hpp"

#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "events/lines.hpp"
#include "events/methods.hpp"
#include "events/precompiled_methods.hpp"
#include "heap/gcdump.hpp"
#include "heap/heap.hpp"
#include "nettrace/reader.hpp"
#include "nettrace/stream_join.hpp"
#include "router/cpu_samples/cpu_samples.hpp"
#include "router/cpu_samples/sample_events.hpp"
#include "router/readers/reader_frames.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

std::unique_ptr<events::EventFormatter> json_log_lines() {
  return std::make_unique<events::LogLines>(
      [](const events::LogEntry& entry) { return events::to_json(entry) + "\n"; });
}

SelectedCounters::SelectedCounters(CounterSelection selection)
    : selection_(std::move(selection)),
      lines_(kMeterSession, [this](const events::Measurement& each) { return selection_.takes(each); }) {}

Result<std::string> CurrentStacks::take_end() {
  if (stacks_.left_out() > 0)
    return fail("tell", "the stacks", "there are more threads, or longer stacks, than are kept");
  std::string document;
  events::write_json([this](const auto& take) { stacks_.each(take); },
                     [&document](std::string_view piece) { document += piece; });
  return document;
}

namespace {

tl::unexpected<Error> unended(const std::string& process) {
  return fail("read the heap of", process, "the runtime did not finish reporting it in time",
              "give it more time with seconds=");
}

tl::unexpected<Error> lacks_parts(const char* doing, const std::string& process) {
  return fail(doing, process,
              "the runtime dropped events for which its buffer had no room, so parts of it are missing",
              "near the application's memory limit the agent makes the buffer smaller, and logs that");
}

}  // namespace

heap::Heap HeapFormatter::take_heap() {
  heap::Heap heap = walk_.take();
  gaps_ = heap::gaps_of(heap);
  return heap;
}

Result<std::string> HeapDocument::take_end() {
  if (!walk().ended() && !walk().lacks_parts()) return unended(process_);
  heap::Heap heap = take_heap();
  if (keep_ == events::HeapWalk::Keep::types)
    return heap::to_json(heap, process_, std::numeric_limits<std::size_t>::max());
  if (!heap.graph && !heap.complete) return lacks_parts("write the heap of", process_);
  if (!heap.graph) return fail("write the heap of", process_, "it has too many objects");
  std::string document;
  RETURN_IF_ERROR(heap::write_gcdump(
      std::move(heap), {{}, process_}, [&document](std::span<const std::byte> piece) -> Result<void> {
        document.append(reinterpret_cast<const char*>(piece.data()), piece.size());
        return {};
      }));
  return document;
}

Result<CounterSelection> selection_named(const std::string& names) {
  return CounterSelection::parse(names.empty() ? std::vector<std::string>() : std::vector{names});
}

std::unique_ptr<events::EventFormatter> event_formatter(const ReadingRequest& wanted) {
  switch (wanted.kind) {
    case ReadingRequest::Kind::counters: {
      auto selection = selection_named(wanted.text);
      return selection ? std::make_unique<SelectedCounters>(std::move(*selection)) : nullptr;
    }
    case ReadingRequest::Kind::profile:
    case ReadingRequest::Kind::metrics:
    case ReadingRequest::Kind::methods:
    case ReadingRequest::Kind::joined:
    case ReadingRequest::Kind::incidents:
    case ReadingRequest::Kind::heap_events:
    case ReadingRequest::Kind::local:
      break;
    case ReadingRequest::Kind::logs:
      return json_log_lines();
    case ReadingRequest::Kind::exceptions:
      return std::make_unique<events::ExceptionReport>();
    case ReadingRequest::Kind::stacks:
      return std::make_unique<CurrentStacks>();
    case ReadingRequest::Kind::heap:
      return std::make_unique<HeapDocument>(wanted.text, events::HeapWalk::Keep::types);
    case ReadingRequest::Kind::objects:
      return std::make_unique<HeapDocument>(wanted.text, events::HeapWalk::Keep::objects);
  }
  return nullptr;
}

namespace {

void write_notices(events::EventFormatter& formatter, ReaderOutput& to) {
  for (const std::string& notice : formatter.take_notices()) {
    to.write(ReaderFrame::notice, shortened(notice, kMaxNoticeBytes));
  }
}

/// Reads samples, which come as a part (see Reading::pass_on()). Errors: they are malformed or have no end,
/// or sampling has failed.
Result<void> read_samples(ReaderInput& from, CpuSamples& to) {
  SampleReader reader(to);
  for (;;) {
    ASSIGN_OR_RETURN(const auto piece, from.next_of_part());
    if (piece.empty()) break;
    RETURN_IF_ERROR(reader.read(piece));
  }
  if (!reader.ended()) return fail("read", "the samples", "they are incomplete");
  if (to.end() == SamplingEnd::failed) return fail("read", "the samples", to.why_ended());
  return {};
}

/// Adds the methods that events describe to a table.
class MethodEvents final : public nettrace::Handler {
 public:
  explicit MethodEvents(events::MethodTable& to) : to_(to) {}
  void on_event(const nettrace::Event& event) override { to_.add(event); }

 private:
  events::MethodTable& to_;
};

/// Reads addresses, which come as a part.
Result<std::vector<std::uint64_t>> read_addresses(ReaderInput& from) {
  std::vector<std::uint64_t> addresses;
  std::uint64_t address = 0;
  for (unsigned shift = 0;;) {
    ASSIGN_OR_RETURN(const auto piece, from.next_of_part());
    if (piece.empty()) return addresses;
    for (const std::byte byte : piece) {
      address |= std::to_integer<std::uint64_t>(byte) << shift;
      shift = (shift + 8) % 64;
      if (shift == 0) addresses.push_back(std::exchange(address, 0));
    }
  }
}

/// Reads the names of methods. An error is ignored, since methods without names are shown by address.
void read_method_names(ReaderInput& from, events::MethodTable& to) {
  MethodEvents methods(to);
  std::ignore = read_recording(from, methods, [] {});
}

Result<void> make_profile(const ReadingRequest& wanted, ReaderInput& from, ReaderOutput& to) {
  CpuSamples samples;
  RETURN_IF_ERROR(read_samples(from, samples));
  events::CodeAddresses sampled;
  for (const SampledCall& call : samples.calls()) sampled.add(call.address);
  events::MethodTable methods(sampled);
  read_method_names(from, methods);
  profile::Profile made;
  made.process = wanted.text;
  made.pid = wanted.pid;
  samples.add_to(made, [&](std::uint64_t address) { return methods.frame_at(address); });
  return profile::write_profile(made, wanted.form, [&](std::string_view piece) -> Result<void> {
    to.write_lines(piece);
    return {};
  });
}

}  // namespace

Result<void> read_recording(ReaderInput& from, nettrace::Handler& handler,
                            const std::function<void()>& after) {
  nettrace::Reader reader(handler);
  for (;;) {
    ASSIGN_OR_RETURN(const auto piece, from.next());
    if (piece.empty()) return {};
    const Result<void> fed = reader.feed(piece);
    after();
    if (!fed) return fed;
  }
}

Result<void> make_lines(events::EventFormatter& formatter, ReaderInput& from, ReaderOutput& to) {
  bool told = false;
  Result<void> read = read_recording(from, formatter, [&] {
    write_notices(formatter, to);
    to.write_lines(formatter.drain_lines());
    if (formatter.has_enough() && !std::exchange(told, true)) to.write(ReaderFrame::enough);
  });
  if (!read) return read;
  const Result<std::string> end = formatter.take_end();
  write_notices(formatter, to);
  if (!end) return tl::unexpected(end.error());
  to.write_lines(*end);
  return {};
}

Result<void> copy_heap(const std::string& process, ReaderInput& from, ReaderOutput& to) {
  events::HeapWalk walk(events::HeapWalk::Keep::types);
  nettrace::Reader reader(walk);
  for (bool told = false;;) {
    ASSIGN_OR_RETURN(const auto piece, from.next());
    if (piece.empty()) break;
    to.write_bytes(piece);
    RETURN_IF_ERROR(reader.feed(piece));
    // What has lost a part has no objects, and its end may be lost, too.
    const bool has_enough = walk.ended() || walk.lacks_parts();
    if (has_enough && !std::exchange(told, true)) to.write(ReaderFrame::enough);
  }
  if (walk.lacks_parts()) return lacks_parts("keep the heap of", process);
  if (!walk.ended()) return unended(process);
  for (const std::string& gap : heap::gaps_of(walk.take())) to.write(ReaderFrame::notice, gap);
  return {};
}

Result<void> tell_measurements(events::MeasurementReader& values, ReaderInput& from, ReaderOutput& to) {
  return read_recording(from, values, [&] {
    write_notices(values, to);
    for (const events::Measurement& each : values.take()) {
      if (const auto text = encode_measurement(each)) to.write(ReaderFrame::measurement, *text);
    }
  });
}

namespace {

/// How often requests without an answer are looked at.
constexpr std::chrono::milliseconds kLookAtOpen{500};

}  // namespace

Result<void> tell_incidents(const std::string& patterns, ReaderInput& from, ReaderOutput& to) {
  ASSIGN_OR_RETURN(auto wanted, patterns_from_json(patterns));
  IncidentReader incidents(std::move(wanted));
  nettrace::Reader reader(incidents);
  for (;;) {
    const bool has_more = !incidents.awaits() || from.wait(kLookAtOpen);
    if (has_more) {
      ASSIGN_OR_RETURN(const auto piece, from.next());
      if (piece.empty()) return {};
      RETURN_IF_ERROR(reader.feed(piece));
    }
    for (const Incident& each : incidents.take(IncidentReader::Clock::now()))
      to.write(ReaderFrame::incident, to_json(each));
    if (incidents.silenced())
      return fail("read", "its requests", "somebody else has begun to look at them in another way",
                  "the runtime tells one at a time");
  }
}

Result<void> tell_methods(ReaderInput& from, ReaderOutput& to) {
  ASSIGN_OR_RETURN(const auto addresses, read_addresses(from));
  events::CodeAddresses wanted;
  for (const std::uint64_t address : addresses) wanted.add(address);
  events::MethodTable methods(wanted);
  MethodEvents handler(methods);
  Result<void> read = read_recording(from, handler, [] {});
  std::set<std::uint64_t> told;
  for (const std::uint64_t address : addresses) {
    const events::Method* const method = methods.find(address);
    if (method != nullptr && told.insert(method->begin).second)
      to.write(ReaderFrame::method, encode_method({method->begin, method->end, methods.frame_of(address)}));
  }
  return read;
}

namespace {

using NextOfInput = std::function<Result<ReaderInput::Piece>()>;
using TakeBytes = std::function<Result<void>(nettrace::BytesView)>;
using JoinBytes = std::function<Result<std::vector<std::byte>>(nettrace::BytesView)>;

/// Has `join` take the next part, which is all that `next` returns up to an empty piece. Returns why the rest
/// of it was left out, if it was. Errors: those of `next` and `take`.
Result<std::optional<Error>> join_part(const NextOfInput& next, const JoinBytes& join,
                                       const TakeBytes& take) {
  std::optional<Error> left_out;
  for (;;) {
    ASSIGN_OR_RETURN(const auto piece, next());
    if (piece.empty()) return left_out;
    if (left_out) continue;
    const auto ready = join(piece);
    if (!ready) left_out = ready.error();
    if (ready) RETURN_IF_ERROR(take(*ready));
  }
}

/// Adds what `take_loads` returns until that is nothing.
template <typename TakeLoads>
Result<void> add_loads(nettrace::StreamJoin& joined, const TakeLoads& take_loads, const TakeBytes& take) {
  auto loads = take_loads();
  // Without a number left for this kind of events, the methods have no names.
  if (loads.empty() || !joined.add_kind(events::kMethodLoad)) return {};
  for (; !loads.empty(); loads = take_loads()) {
    std::vector<nettrace::NewEvent> made;
    for (auto& load : loads) made.push_back({.payload = std::move(load)});
    RETURN_IF_ERROR(take(joined.add_events(made)));
  }
  return {};
}

}  // namespace

Result<void> join_recordings(ReaderInput& from, ReaderOutput& to, const TakeBytes& take) {
  nettrace::StreamJoin joined;
  SampleEvents samples(joined);
  events::PrecompiledMethods precompiled;
  nettrace::Reader reader(precompiled);
  bool reads = true;
  const TakeBytes pass = [&](nettrace::BytesView bytes) {
    if (reads) reads = reader.feed(bytes).has_value();
    return take(bytes);
  };
  const JoinBytes join_recording = [&joined](nettrace::BytesView bytes) { return joined.take(bytes); };
  const JoinBytes join_samples = [&samples](nettrace::BytesView bytes) { return samples.take(bytes); };
  const auto tell = [&to](const Error& why) {
    to.write(ReaderFrame::notice, shortened(why.message(), kMaxNoticeBytes));
  };
  for (std::size_t number = 0; number < kJoinedParts; ++number) {
    const bool is_last = number + 1 == kJoinedParts;
    const bool are_samples = number == 1;
    if (number > 1) joined.next_stream();
    const NextOfInput next = [&from, is_last] { return is_last ? from.next() : from.next_of_part(); };
    ASSIGN_OR_RETURN(const auto left_out, join_part(next, are_samples ? join_samples : join_recording, pass));
    if (left_out && number == 0) return tl::unexpected(*left_out);
    if (left_out) tell(*left_out);
  }
  if (samples.left_out()) tell(*samples.left_out());
  RETURN_IF_ERROR(add_loads(
      joined, [&samples] { return samples.take_loads(); }, take));
  RETURN_IF_ERROR(add_loads(
      joined, [&precompiled] { return precompiled.take_loads(); }, take));
  return take(joined.end());
}

Result<void> join_recordings(ReaderInput& from, ReaderOutput& to) {
  return join_recordings(from, to, [&to](nettrace::BytesView bytes) -> Result<void> {
    to.write_bytes(bytes);
    return {};
  });
}

Result<void> make_answer(const ReadingRequest& wanted, ReaderInput& from, ReaderOutput& to) {
  if (wanted.kind == ReadingRequest::Kind::profile) return make_profile(wanted, from, to);
  if (wanted.kind == ReadingRequest::Kind::metrics) {
    auto selection = selection_named(wanted.text);
    if (!selection) return tl::unexpected(selection.error());
    events::MeasurementReader values(
        kMeterSession, [&selection](const events::Measurement& each) { return selection->takes(each); });
    return tell_measurements(values, from, to);
  }
  if (wanted.kind == ReadingRequest::Kind::heap_events) return copy_heap(wanted.text, from, to);
  if (wanted.kind == ReadingRequest::Kind::joined) return join_recordings(from, to);
  if (wanted.kind == ReadingRequest::Kind::incidents) return tell_incidents(wanted.text, from, to);
  const auto formatter = event_formatter(wanted);
  if (formatter == nullptr) return fail("make", "the answer", "there is no such kind of answer");
  return make_lines(*formatter, from, to);
}

}  // namespace farport::router
