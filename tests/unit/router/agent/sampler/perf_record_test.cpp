// What the kernel writes about a process that it samples.
#include "router/agent/sampler/perf_record.hpp"

#include <cstring>

#include <catch2/catch.hpp>

#include "router/agent/sampler/sampler_process.hpp"

using namespace farport::router;

namespace {

constexpr std::uint64_t kMemory = std::uint64_t{1} << 20;

class Heard final : public PerfSink {
 public:
  void on_sample(const PerfSample& sample) override { samples.push_back(sample); }
  void on_same_stack(pid_t thread, std::uint64_t /*time*/) override {
    lines.push_back("again " + std::to_string(thread));
  }
  void on_thread_start(pid_t process, pid_t thread) override {
    lines.push_back("begin " + std::to_string(process) + " " + std::to_string(thread));
  }
  void on_thread_exit(pid_t process, pid_t thread) override {
    lines.push_back("gone " + std::to_string(process) + " " + std::to_string(thread));
  }
  void on_name(pid_t thread, std::string_view name) override {
    lines.push_back("name " + std::to_string(thread) + " " + std::string(name));
  }
  void on_mapped(pid_t process, MappedFile file) override {
    lines.push_back("mapped " + std::to_string(process) + " " + std::to_string(file.start) + "-" +
                    std::to_string(file.end) + " " + std::to_string(file.offset) + " " + file.path);
  }
  void on_lost(std::uint64_t records) override { lines.push_back("lost " + std::to_string(records)); }

  std::vector<PerfSample> samples;
  std::vector<std::string> lines;
};

/// A record as the kernel writes it.
class Record {
 public:
  explicit Record(std::uint32_t type) { header_.type = type; }
  template <typename Number>
  Record& add(Number value) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
    payload_.insert(payload_.end(), bytes, bytes + sizeof value);
    return *this;
  }
  Record& add_text(std::string_view text) {
    for (const char each : text) add(each);
    return add('\0');
  }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    perf_event_header header = header_;
    header.size = static_cast<__u16>(sizeof header + payload_.size());
    std::vector<std::byte> all(sizeof header);
    std::memcpy(all.data(), &header, sizeof header);
    all.insert(all.end(), payload_.begin(), payload_.end());
    return all;
  }

 private:
  perf_event_header header_{};
  std::vector<std::byte> payload_;
};

Record sample_of(const std::vector<std::uint64_t>& chain) {
  Record record(PERF_RECORD_SAMPLE);
  record.add(std::int32_t{10}).add(std::int32_t{11}).add(std::uint64_t{1234}).add(chain.size());
  for (const std::uint64_t each : chain) record.add(each);
  return record;
}

constexpr auto kKernelMark = static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL);
constexpr auto kUserMark = static_cast<std::uint64_t>(PERF_CONTEXT_USER);
constexpr std::uint64_t kHigh = 0xFFFF'FFFF'8100'0000;

/// The calls that are told.
class Calls final : public SampleSink {
 public:
  void on_call(const SampledCall& call) override { calls.push_back(call); }
  std::vector<SampledCall> calls;
};

}  // namespace

TEST_CASE("a stack is taken apart into the kernel's part and the process's", "[sampler]") {
  Heard heard;
  read_perf_record(sample_of({kKernelMark, kHigh, kHigh + 8, kUserMark, 5, 0, 6}).bytes(), heard);
  REQUIRE(heard.samples.size() == 1);
  const PerfSample& sample = heard.samples.front();
  CHECK(sample.process == 10);
  CHECK(sample.thread == 11);
  CHECK(sample.time == 1234);
  CHECK(sample.kernel == std::vector<std::uint64_t>{kHigh, kHigh + 8});
  CHECK(sample.user == std::vector<std::uint64_t>{5, 6});
}

TEST_CASE("a process passes nothing on its stack off as the kernel's", "[sampler]") {
  Heard heard;
  read_perf_record(
      sample_of({kKernelMark, kHigh, kUserMark, 5, kKernelMark, kHigh + 8, kUserMark, 6}).bytes(), heard);
  read_perf_record(sample_of({kUserMark, 5, kKernelMark, kHigh}).bytes(), heard);
  REQUIRE(heard.samples.size() == 2);
  CHECK(heard.samples[0].kernel == std::vector<std::uint64_t>{kHigh});
  CHECK(heard.samples[1].kernel.empty());
}

TEST_CASE("threads, names, files and losses are heard of", "[sampler]") {
  Heard heard;
  Record fork(PERF_RECORD_FORK);
  fork.add(std::int32_t{10}).add(std::int32_t{1}).add(std::int32_t{12}).add(std::int32_t{11});
  read_perf_record(fork.bytes(), heard);
  Record exit(PERF_RECORD_EXIT);
  exit.add(std::int32_t{10}).add(std::int32_t{1}).add(std::int32_t{13}).add(std::int32_t{11});
  read_perf_record(exit.bytes(), heard);
  Record name(PERF_RECORD_COMM);
  name.add(std::int32_t{10}).add(std::int32_t{12}).add_text(".NET TP Worker");
  read_perf_record(name.bytes(), heard);
  Record mapped(PERF_RECORD_MMAP2);
  mapped.add(std::int32_t{10}).add(std::int32_t{12}).add(std::uint64_t{4096}).add(std::uint64_t{4096});
  mapped.add(std::uint64_t{8192}).add(std::uint64_t{0}).add(std::uint64_t{0}).add(std::uint64_t{0});
  mapped.add(std::uint64_t{0}).add_text("/app/lib.so");
  read_perf_record(mapped.bytes(), heard);
  Record lost(PERF_RECORD_LOST);
  lost.add(std::uint64_t{1}).add(std::uint64_t{17});
  read_perf_record(lost.bytes(), heard);
  CHECK(heard.lines == std::vector<std::string>{"begin 10 12", "gone 10 13", "name 12 .NET TP Worker",
                                                "mapped 10 4096-8192 8192 /app/lib.so", "lost 17"});
}

TEST_CASE("a record that is cut short says nothing", "[sampler]") {
  const std::vector<std::byte> whole = sample_of({kUserMark, 5, 6}).bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Heard heard;
    read_perf_record(std::span(whole).first(size), heard);
    CHECK(heard.samples.empty());
  }
  Heard heard;
  read_perf_record(Record(4711).bytes(), heard);
  CHECK(heard.lines.empty());
}

TEST_CASE("stacks without an end are cut where there is no memory for more calls", "[sampler]") {
  Calls calls;
  StackTree tree(0, 10 * 64);
  PerfSample deep{1, 1, 0, {}, {}};
  for (std::uint64_t address = 100; address > 0; --address) deep.user.push_back(address * 10);
  CHECK(tree.add(deep, calls) == 10);
  CHECK(calls.calls.size() == 10);
  CHECK(tree.add(deep, calls) == 10);
}

TEST_CASE("stacks that begin alike are told once", "[sampler]") {
  Calls calls;
  constexpr std::uint64_t kBase = 0x5000;
  StackTree tree(kBase, kMemory);
  const PerfSample one{1, 1, 0, {kHigh + kBase}, {10, 21, 31}};
  const PerfSample other{1, 1, 0, {}, {11, 21, 31}};
  CHECK(tree.add(one, calls) == 4);
  CHECK(tree.add(one, calls) == 4);
  CHECK(tree.add(other, calls) == 5);
  // The outermost first; callers within their call; the kernel from a place that is nobody's business.
  REQUIRE(calls.calls.size() == 5);
  CHECK(calls.calls[0].address == 30);
  CHECK(calls.calls[1].address == 20);
  CHECK(calls.calls[2].address == 10);
  CHECK(calls.calls[3].address == kHigh);
  CHECK(calls.calls[4].caller == 2);
  CHECK(tree.addresses() == std::vector<std::uint64_t>{10, 11, 20, 30, kHigh});
}

TEST_CASE("what looks like the kernel's on a process's own stack is left out", "[sampler]") {
  Calls calls;
  StackTree tree(0, kMemory);
  CHECK(tree.add({1, 1, 0, {}, {kHigh, kHigh}}, calls) == 0);
  CHECK(calls.calls.empty());
}
