// nettrace_dump [--count] FILE: prints a nettrace stream, one line for each event, and totals behind them.
// The .NET program `driver events FILE` prints the same by Microsoft's library
// (tests/integration/driver/Events.cs).
//
// --count prints the totals alone.
#include <array>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sys/resource.h>

#include "base/text.hpp"
#include "nettrace/payload.hpp"
#include "nettrace/reader.hpp"

using namespace farport;
using namespace farport::nettrace;

namespace {

/// As much as a socket gives at once.
constexpr std::size_t kPieceBytes = 1 << 16;

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

std::string hex_of(std::string_view text) {
  return hex(std::as_bytes(std::span(text)));
}

std::string as_text(const Value& value);

std::string as_text(const Structure& members) {
  std::string text = "{";
  for (const Member& member : members) text += hex_of(member.name) + "=" + as_text(member.value) + ";";
  return text + "}";
}

std::string as_text(const Array& array) {
  std::string text = "[";
  for (const Value& value : array) text += as_text(value) + ";";
  return text + "]";
}

/// So that no two values look alike: texts and names as the digits of their bytes, numbers with a fraction as
/// those of their bits.
std::string as_text(const Value& value) {
  return std::visit(
      Overloaded{[](bool is) { return std::string(is ? "true" : "false"); },
                 [](std::int64_t number) { return fmt::format("{}", number); },
                 [](std::uint64_t number) { return fmt::format("{}", number); },
                 [](double number) { return fmt::format("d{:016x}", std::bit_cast<std::uint64_t>(number)); },
                 [](const std::string& text) { return "'" + hex_of(text) + "'"; },
                 [](const Guid& guid) { return guid.to_string(); },
                 [](FileTime time) { return fmt::format("t{}", time.units); },
                 [](const Decimal& decimal) { return "m" + hex(decimal.bytes); },
                 [](const Blob& blob) { return "x" + hex(blob); },
                 [](const Array& array) { return as_text(array); },
                 [](const Structure& members) { return as_text(members); }},
      value.is);
}

/// FNV-1a, 64 bits.
std::uint64_t digest(BytesView bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

std::string addresses(const Stack& stack) {
  std::string text;
  for (std::size_t at = 0; at < stack.size(); ++at)
    text += fmt::format("{}{:x}", at == 0 ? "" : ",", stack[at]);
  return text;
}

class Printer : public Handler {
 public:
  explicit Printer(bool only_counts) : only_counts_(only_counts) {}

  void on_trace(const TraceHeader& trace) override {
    trace_ = trace;
    fmt::print("trace format={} process={} pointers={} processors={} frequency={} begin={}\n", trace.format,
               trace.process_id, trace.pointer_size, trace.processors, trace.ticks_per_second,
               trace.sync_time);
  }

  void on_definition(const Definition&) override { ++definitions_; }

  void on_event(const Event& event) override {
    ++events_;
    if (!event.stack.empty()) ++stacks_;
    if (only_counts_) return;
    const auto decoded = decode_payload(event.definition, event.payload, event.payload_offset);
    fmt::print(
        "event {} {} {} time={} ticks={} thread={} process={} processor={} keywords={:x} level={} version={} "
        "opcode={} activity={} "
        "related={} stack={} payload={} {:016x} fields={}\n",
        event.definition.provider, event.definition.event_id, name_of(event), trace_.time_of(event.timestamp),
        event.timestamp - trace_.sync_ticks, event.thread.id, event.thread.process_id, processor_of(event),
        event.keywords(), event.level(), event.version() & 0xFF, event.opcode(),
        event.activity_id.to_string(), event.related_activity_id.to_string(), addresses(event.stack),
        event.payload.size(), digest(event.payload), decoded ? as_text(*decoded) : decoded.error().message());
  }

  void on_dropped(const Thread&, std::uint32_t events) override { dropped_ += events; }
  void on_sequence_point(std::int64_t) override { ++sequence_points_; }

  void print_totals() const {
    fmt::print("events {}\nstacks {}\ndropped {}\ndefinitions {}\nsequence-points {}\n", events_, stacks_,
               dropped_, definitions_, sequence_points_);
  }

 private:
  static std::string name_of(const Event& event) {
    return event.definition.name.empty() ? "-" : event.definition.name;
  }

  /// As Microsoft's library has it, a byte; "-" where it does not say: for events about other threads.
  static std::string processor_of(const Event& event) {
    const bool says = event.thread.id == event.capture_thread.id && event.processor != 0xFFFFFFFF;
    return says ? std::to_string(event.processor & 0xFF) : "-";
  }

  bool only_counts_;
  TraceHeader trace_;
  std::uint64_t events_ = 0;
  std::uint64_t stacks_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t definitions_ = 0;
  std::uint64_t sequence_points_ = 0;
};

/// The most memory that the process has had, in KiB.
long peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

int dump(std::FILE* file, bool only_counts) {
  Printer printer(only_counts);
  Reader reader(printer);
  std::array<std::byte, kPieceBytes> piece;
  Result<void> fed;
  while (fed) {
    const std::size_t size = std::fread(piece.data(), 1, piece.size(), file);
    if (size == 0) break;
    fed = reader.feed(std::span(piece).first(size));
  }
  const Result<void> finished = reader.finish();
  printer.print_totals();
  fmt::print("whole {}\n", finished ? "yes" : finished.error().message());
  if (only_counts) fmt::print("peak-kib {}\n", peak_kib());
  return finished ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const bool only_counts = count == 3 && std::string_view(arguments[1]) == "--count";
  if (count != 2 && !only_counts) {
    std::fputs("usage: nettrace_dump [--count] FILE\n", stderr);
    return 2;
  }
  std::FILE* const file = std::fopen(arguments[count - 1], "rb");
  if (file == nullptr) {
    std::perror(arguments[count - 1]);
    return 2;
  }
  const int status = dump(file, only_counts);
  std::fclose(file);
  return status;
}
