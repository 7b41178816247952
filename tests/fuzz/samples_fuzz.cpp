// Fuzzes the reading of samples that an agent sends. The first byte of an input says in what pieces it comes.
#include <algorithm>
#include <string>

#include "router/wire/samples.hpp"
#include "tests/fuzz/heap_peak.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport;
using namespace farport::router;
using farport::fuzz::HeapPeak;
using farport::fuzz::require;

namespace {

/// Checks that what is handed on holds together, and makes the same stream of it.
class Checking final : public SampleSink {
 public:
  void on_start(const SamplingStart& start) override {
    require(start.frequency > 0 && !started_, "samples have one beginning");
    started_ = true;
    writer_.on_start(start);
  }
  void on_thread(std::uint32_t thread, std::string_view name) override {
    require(started_, "there is a beginning first");
    writer_.on_thread(thread, name);
  }
  void on_call(const SampledCall& call) override {
    require(call.caller <= calls_, "a call's caller is there before it");
    ++calls_;
    writer_.on_call(call);
  }
  void on_sample(const StackSample& sample) override {
    require(sample.call <= calls_, "a sample's call is there");
    require(sample.time.count() >= 0, "no sample is from before the beginning");
    writer_.on_sample(sample);
  }
  void on_lost(std::uint64_t samples) override { writer_.on_lost(samples); }
  void on_mapping(SampledMapping mapping) override {
    require(mapping.start < mapping.end, "a mapping has a size");
    writer_.on_mapping(std::move(mapping));
  }
  void on_symbol(SampledSymbol symbol) override {
    require(symbol.start < symbol.end, "a symbol has a size");
    writer_.on_symbol(std::move(symbol));
  }
  void on_note(std::string_view text) override { writer_.on_note(text); }
  void on_end(SamplingEnd end, std::string_view why) override {
    require(!ended_, "samples have one end");
    ended_ = true;
    writer_.on_end(end, why);
  }
  [[nodiscard]] std::string take() { return writer_.take(); }

 private:
  SampleWriter writer_;
  CallNumber calls_ = 0;
  bool started_ = false;
  bool ended_ = false;
};

/// What has been understood, as the stream that says just that; `failed`: where there was an error behind it.
std::string understood(std::span<const std::byte> bytes, std::size_t piece, bool& failed) {
  Checking checking;
  SampleReader reader(checking);
  failed = false;
  for (; !bytes.empty() && !failed; bytes = bytes.subspan(std::min(piece, bytes.size()))) {
    const Result<void> read = reader.read(bytes.first(std::min(piece, bytes.size())));
    require(read || !read.error().why.empty(), "every error has a cause");
    failed = !read;
  }
  return checking.take();
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + std::size_t{data[0]};
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const HeapPeak peak;
  bool failed = false;
  const std::string said = understood(bytes, piece, failed);
  require(peak.bytes() <= 16 * size + (1U << 18U), "reading samples takes what has come, and little more");
  bool failed_whole = false;
  const std::string said_whole = understood(bytes, std::max<std::size_t>(bytes.size(), 1), failed_whole);
  require(said == said_whole && failed == failed_whole, "samples mean the same in pieces of any size");
  bool failed_again = false;
  const std::string again =
      understood(std::as_bytes(std::span(said)), std::max<std::size_t>(said.size(), 1), failed_again);
  require(!failed_again && again == said, "what was understood can be said and understood again");
  return 0;
}
