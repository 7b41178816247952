// A handler that writes down what it is called with, one line each.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "nettrace/reader.hpp"

namespace farport::test {

class Transcript : public nettrace::Handler {
 public:
  std::vector<std::string> lines;
  nettrace::TraceHeader trace;
  std::vector<nettrace::Definition> definitions;
  std::vector<Bytes> payloads;

  void on_trace(const nettrace::TraceHeader& header) override {
    trace = header;
    lines.push_back(fmt::format("trace of {}, format {}", header.process_id, header.format));
  }
  void on_definition(const nettrace::Definition& definition) override {
    definitions.push_back(definition);
    lines.push_back(fmt::format("definition {} {}/{} {}", definition.id, definition.provider,
                                definition.event_id, definition.name));
  }
  void on_event(const nettrace::Event& event) override {
    payloads.emplace_back(event.payload.begin(), event.payload.end());
    lines.push_back(fmt::format(
        "{}event {}/{} #{} thread {}.{} by {} processor {} at {} activity {:02x} {:02x} stack {} payload {}",
        event.sorted ? "sorted " : "", event.definition.provider, event.definition.event_id,
        event.sequence_number, event.thread.process_id, event.thread.id, event.capture_thread.id,
        event.processor, event.timestamp, std::to_integer<int>(event.activity_id.bytes[0]),
        std::to_integer<int>(event.related_activity_id.bytes[0]), addresses(event.stack),
        event.payload.size()));
  }
  void on_dropped(const nettrace::Thread& thread, std::uint32_t events) override {
    lines.push_back(fmt::format("dropped {} of thread {}", events, thread.id));
  }
  void on_sequence_point(std::int64_t timestamp) override {
    lines.push_back(fmt::format("sequence point at {}", timestamp));
  }

 private:
  static std::string addresses(const nettrace::Stack& stack) {
    std::string text = "[";
    for (std::size_t at = 0; at < stack.size(); ++at)
      text += fmt::format("{}{:x}", at == 0 ? "" : " ", stack[at]);
    return text + "]";
  }
};

/// What a reader makes of a stream that comes in pieces of `piece` bytes; its failure, or its early end, is
/// the last line.
inline Transcript read_in_pieces(nettrace::BytesView bytes, std::size_t piece) {
  Transcript transcript;
  nettrace::Reader reader(transcript);
  while (!bytes.empty()) {
    const std::size_t size = std::min(piece, bytes.size());
    // A copy of just this size, so that the sanitizer sees a byte too many being read.
    const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    if (!reader.feed(part)) break;
    bytes = bytes.subspan(size);
  }
  const auto finished = reader.finish();
  transcript.lines.push_back(finished ? "end" : finished.error().message());
  return transcript;
}

inline Transcript read_whole(const TraceWriter& writer) {
  return read_in_pieces(writer.bytes(), writer.bytes().size());
}

/// The last line.
inline std::string outcome_of(const TraceWriter& writer) {
  return read_whole(writer).lines.back();
}

}  // namespace farport::test
