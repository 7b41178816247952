#include "router/agent/sampler/perf_record.hpp"

#include <cstring>
#include <tuple>

namespace farport::router {
namespace {

/// Reads fields one after the other. Beyond the end they are zero, and failed() is true.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename Number>
  Number number() {
    Number value{};
    if (bytes_.size() < sizeof value) {
      failed_ = true;
      bytes_ = {};
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  /// The text up to its zero byte.
  std::string_view text() {
    const std::string_view all(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    return all.substr(0, all.find('\0'));
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

void read_sample(Fields fields, PerfSink& sink) {
  PerfSample sample;
  sample.process = fields.number<pid_t>();
  sample.thread = fields.number<pid_t>();
  sample.time = fields.number<std::uint64_t>();
  std::vector<std::uint64_t>* part = &sample.user;
  std::vector<std::uint64_t> others;
  bool of_process = false;
  for (auto left = fields.number<std::uint64_t>(); left > 0 && !fields.failed(); --left) {
    const auto address = fields.number<std::uint64_t>();
    // Markers between the parts have values that no address has. The process's own part comes last, and holds
    // what is in its memory. No marker counts there, or the process could pass off addresses as the kernel's.
    if (address >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) {
      if (of_process) continue;
      of_process = address == static_cast<std::uint64_t>(PERF_CONTEXT_USER);
      part = address == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL) ? &sample.kernel
             : address == static_cast<std::uint64_t>(PERF_CONTEXT_USER) ? &sample.user
                                                                        : &others;
    } else if (address != 0) {
      part->push_back(address);
    }
  }
  if (!fields.failed()) sink.on_sample(sample);
}

void read_mapping(Fields fields, PerfSink& sink) {
  const auto process = fields.number<pid_t>();
  std::ignore = fields.number<std::uint32_t>();  // The thread.
  MappedFile file;
  file.start = fields.number<std::uint64_t>();
  const auto size = fields.number<std::uint64_t>();
  file.end = file.start + size;
  file.offset = fields.number<std::uint64_t>();
  // The device, the inode and its generation; protection and flags.
  for (int i = 0; i < 3; ++i) std::ignore = fields.number<std::uint64_t>();
  std::ignore = fields.number<std::uint64_t>();
  file.path = fields.text();
  if (!fields.failed() && file.end > file.start) sink.on_mapped(process, std::move(file));
}

}  // namespace

void read_perf_record(std::span<const std::byte> record, PerfSink& sink) {
  perf_event_header header{};
  if (record.size() < sizeof header) return;
  std::memcpy(&header, record.data(), sizeof header);
  Fields fields(record.subspan(sizeof header));
  switch (header.type) {
    case PERF_RECORD_SAMPLE:
      return read_sample(fields, sink);
    case PERF_RECORD_MMAP2:
      return read_mapping(fields, sink);
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: {
      const auto process = fields.number<pid_t>();
      std::ignore = fields.number<pid_t>();  // Its parent.
      const auto thread = fields.number<pid_t>();
      if (fields.failed()) return;
      return header.type == PERF_RECORD_FORK ? sink.on_thread_start(process, thread)
                                             : sink.on_thread_exit(process, thread);
    }
    case PERF_RECORD_COMM: {
      std::ignore = fields.number<pid_t>();  // The process.
      const auto thread = fields.number<pid_t>();
      if (!fields.failed()) sink.on_name(thread, fields.text());
      return;
    }
    case PERF_RECORD_LOST: {
      std::ignore = fields.number<std::uint64_t>();  // Which counter.
      return sink.on_lost(fields.number<std::uint64_t>());
    }
    default:
      return;
  }
}

}  // namespace farport::router
