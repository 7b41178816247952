#include "router/agent/sampler/perf_counters.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "base/resources.hpp"

namespace farport::router {
namespace {

constexpr const char* kLeastRightsHint =
    "give farport CAP_PERFMON, or set kernel.perf_event_paranoid to 2 and run it as the application's user";

Error refused(int error, std::string why, std::string hint) {
  return {"have the kernel sample", "it", std::move(why), std::move(hint), Cause(error)};
}

}  // namespace

PerfFacts look_at_perf(uid_t user) {
  PerfFacts facts;
  if (const auto text = read_limited("/proc/sys/kernel/perf_event_paranoid", 16)) {
    facts.paranoid = std::atoi(text->c_str());
  }
  if (const auto status = process_status(::getpid())) facts.own_filter = status->filtered;
  facts.own_process = user == ::geteuid();
  return facts;
}

SamplingTry try_to_sample(pid_t process, uid_t user) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  // The time of the process itself needs the fewest rights.
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  constexpr int kAnyProcessor = -1;
  constexpr int kNoGroup = -1;
  const UniqueFd counter(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, process, kAnyProcessor, kNoGroup, PERF_FLAG_FD_CLOEXEC)));
  const int error = counter ? 0 : errno;
  return {look_at_perf(user), error};
}

namespace {

/// "kernel.perf_event_paranoid is 2"
std::string describe_paranoia(const PerfFacts& facts) {
  return "kernel.perf_event_paranoid is " + std::to_string(facts.paranoid.value_or(0));
}

}  // namespace

Error explain_perf_refusal(const PerfFacts& facts, int error) {
  if (!facts.paranoid) {
    return refused(error, "this kernel has no performance events", "use one with CONFIG_PERF_EVENTS");
  }
  switch (error) {
    case ENOSYS:
      return refused(error,
                     facts.own_filter ? "a filter of system calls hides perf_event_open(2)"
                                      : "this kernel has no perf_event_open(2)",
                     "let the container's seccomp profile allow it");
    case EPERM:
      if (facts.own_filter) {
        return refused(error, "the container's seccomp profile forbids perf_event_open(2)",
                       "let the profile allow it, or give the container CAP_PERFMON");
      }
      [[fallthrough]];
    case EACCES:
      return refused(error,
                     describe_paranoia(facts) + (facts.own_process ? ", and farport has no CAP_PERFMON"
                                                                   : ", and it is another user's process"),
                     kLeastRightsHint);
    case EMFILE:
      return refused(error,
                     "counters for all of its threads on all processors exceed farport's limit of open files",
                     "raise the limit of open files that farport is started with");
    case EINVAL:
      return refused(error, "the kernel takes no samples in this way",
                     "ask for fewer samples a second: kernel.perf_event_max_sample_rate limits them");
    default:
      return refused(error, std::strerror(error), "try again: has the process ended?");
  }
}

std::string explain_missing_kernel(const PerfFacts& facts) {
  return "stacks end where they enter the kernel: " + describe_paranoia(facts) +
         ", and farport has no CAP_PERFMON";
}

namespace {

/// Pages of data; powers of two. A stack takes a kilobyte at most, and the ring is read twenty times a
/// second, or twice where samples are few.
constexpr std::size_t kMaxPages = 64;
constexpr std::size_t kPagesIfSlow = 16;
constexpr std::size_t kMinPages = 4;

std::size_t page_size() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

Result<PerfRing> PerfRing::map(int counter, std::size_t most_pages) {
  for (std::size_t pages = most_pages; pages >= kMinPages; pages /= 2) {
    const std::size_t size = pages * page_size();
    void* const base = ::mmap(nullptr, page_size() + size, PROT_READ | PROT_WRITE, MAP_SHARED, counter, 0);
    if (base != MAP_FAILED) return PerfRing(static_cast<std::byte*>(base), size);
    if (errno != EPERM && errno != ENOMEM) break;
  }
  return fail_errno("have memory for", "the samples", errno,
                    "let other profiles end, or raise kernel.perf_event_mlock_kb");
}

PerfRing::PerfRing(PerfRing&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), size_(other.size_), record_(std::move(other.record_)) {}

PerfRing::~PerfRing() {
  if (base_ != nullptr) ::munmap(base_, page_size() + size_);
}

void PerfRing::read(PerfSink& sink) {
  auto* const control = reinterpret_cast<perf_event_mmap_page*>(base_);
  const std::byte* const data = base_ + page_size();
  std::atomic_ref<__u64> head(control->data_head);
  std::atomic_ref<__u64> tail(control->data_tail);
  const std::uint64_t end = head.load(std::memory_order_acquire);
  std::uint64_t place = tail.load(std::memory_order_relaxed);
  const auto copy = [&](std::uint64_t from, std::byte* to, std::size_t count) {
    const std::size_t offset = from % size_;
    const std::size_t first = std::min(count, size_ - offset);
    std::memcpy(to, data + offset, first);
    std::memcpy(to + first, data, count - first);
  };
  while (end - place >= sizeof(perf_event_header)) {
    perf_event_header header{};
    copy(place, reinterpret_cast<std::byte*>(&header), sizeof header);
    if (header.size < sizeof header || header.size > end - place) break;
    record_.resize(header.size);
    copy(place, record_.data(), header.size);
    place += header.size;
    read_perf_record(record_, sink);
  }
  tail.store(end, std::memory_order_release);
}

namespace {

/// How often to look for threads that have begun while counters were opened for the others.
constexpr int kMaxLooks = 10;
/// What the kernel keeps for an open counter, and charges to this process: a file, its name, and its
/// descriptor.
constexpr std::uint64_t kCounterBytes = 512;

/// Passes everything on, and notes the threads that have inherited their counters.
class InheritedThreadTracker final : public PerfSink {
 public:
  InheritedThreadTracker(PerfSink& sink, std::set<pid_t>& threads) : sink_(sink), threads_(threads) {}
  void on_sample(const PerfSample& sample) override { sink_.on_sample(sample); }
  void on_same_stack(pid_t thread, std::uint64_t time) override { sink_.on_same_stack(thread, time); }
  void on_thread_start(pid_t process, pid_t thread) override {
    threads_.insert(thread);
    sink_.on_thread_start(process, thread);
  }
  void on_thread_exit(pid_t process, pid_t thread) override { sink_.on_thread_exit(process, thread); }
  void on_name(pid_t thread, std::string_view name) override { sink_.on_name(thread, name); }
  void on_mapped(pid_t process, MappedFile file) override { sink_.on_mapped(process, std::move(file)); }
  void on_lost(std::uint64_t records) override { sink_.on_lost(records); }

 private:
  PerfSink& sink_;
  std::set<pid_t>& threads_;
};

tl::unexpected<Error> refused(int error) {
  return fail_errno("have the kernel sample", "the process", error);
}

}  // namespace

int PerfCounters::open_counter(const Kind& kind, pid_t thread, int processor) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = kind.clock == SampleClock::cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  attributes.config = kind.clock == SampleClock::cycles ? static_cast<__u64>(PERF_COUNT_HW_CPU_CYCLES)
                                                        : static_cast<__u64>(PERF_COUNT_SW_CPU_CLOCK);
  attributes.freq = 1;
  attributes.sample_freq = kind.frequency;
  attributes.sample_type = kSampleType;
  attributes.inherit = 1;
  attributes.inherit_thread = kind.threads_only ? 1 : 0;
  attributes.exclude_kernel = kind.kernel ? 0 : 1;
  attributes.exclude_callchain_kernel = attributes.exclude_kernel;
  attributes.exclude_hv = 1;
  attributes.mmap = 1;
  attributes.mmap2 = 1;
  attributes.comm = 1;
  attributes.task = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  // The ring is read at intervals, so nobody needs to be woken.
  attributes.watermark = 1;
  attributes.wakeup_watermark = UINT32_MAX;
  constexpr int kNoGroup = -1;
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, thread, processor, kNoGroup, PERF_FLAG_FD_CLOEXEC));
}

Result<std::unique_ptr<PerfCounters>> PerfCounters::open(pid_t process, std::uint32_t frequency, bool kernel,
                                                         PerfSink& sink, std::uint64_t kernel_memory) {
  // There is a counter for each thread on each processor.
  raise_descriptor_limit();
  std::unique_ptr<PerfCounters> counters(new PerfCounters(kernel_memory / kCounterBytes));
  const auto processors = static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF));
  for (int number = 0; number < processors; ++number) counters->numbers_.push_back(number);
  RETURN_IF_ERROR(counters->choose_kind(process, frequency, kernel));
  RETURN_IF_ERROR(counters->add_threads(process, sink));
  return counters;
}

/// Tries the kinds of counters, from the one that tells most to the one that needs the fewest rights.
Result<void> PerfCounters::choose_kind(pid_t process, std::uint32_t frequency, bool with_kernel) {
  constexpr int kAnyProcessor = -1;
  int error = 0;
  kind_.frequency = frequency;
  for (const SampleClock clock : {SampleClock::cycles, SampleClock::cpu_clock}) {
    for (const bool kernel : {true, false}) {
      if (kernel && !with_kernel) continue;
      for (const bool threads_only : {true, false}) {
        kind_ = {frequency, clock, kernel, threads_only};
        // A counter for all processors can't be mapped, but opening it shows whether this kind is allowed.
        const UniqueFd tried(open_counter(kind_, process, kAnyProcessor));
        if (tried) return {};
        error = errno;
      }
    }
  }
  return refused(error);
}

Result<void> PerfCounters::add_threads(pid_t process, PerfSink& sink) {
  InheritedThreadTracker noting(sink, threads_);
  for (int looks = 0; looks < kMaxLooks; ++looks) {
    bool changed = false;
    const std::vector<pid_t> there = threads_of(process);
    // New threads may have inherited their counters: read which.
    read(noting);
    for (const pid_t thread : there) {
      if (!threads_.insert(thread).second) continue;
      RETURN_IF_ERROR(add_thread(thread));
      changed = true;
    }
    if (!changed) break;
  }
  if (processors_.empty()) return refused(ESRCH);
  return {};
}

Result<void> PerfCounters::add_thread(pid_t thread) {
  if (counters_.size() + numbers_.size() > most_counters_) {
    const Error much{
        "have the kernel sample", "the process",
        "a counter for each of its threads on each processor needs more memory than is available",
        "raise the agent's memory limit, or look at its threads (--event wall)", Cause(ENOMEM)};
    return tl::unexpected(much);
  }
  for (auto number = numbers_.begin(); number != numbers_.end();) {
    UniqueFd counter(open_counter(kind_, thread, *number));
    if (!counter && errno == ESRCH) return {};
    if (!counter && errno == ENODEV) {
      // The processor is switched off.
      number = numbers_.erase(number);
      continue;
    }
    if (!counter) return refused(errno);
    const auto known = std::find_if(processors_.begin(), processors_.end(),
                                    [&](const Processor& each) { return each.number == *number; });
    if (known == processors_.end()) {
      ASSIGN_OR_RETURN(auto ring, PerfRing::map(counter.get(), is_slow() ? kPagesIfSlow : kMaxPages));
      processors_.push_back({*number, counter.get(), std::move(ring)});
    } else if (::ioctl(counter.get(), PERF_EVENT_IOC_SET_OUTPUT, known->first) != 0) {
      return refused(errno);
    }
    counters_.push_back(std::move(counter));
    ++number;
  }
  return {};
}

void PerfCounters::read(PerfSink& sink) {
  for (Processor& processor : processors_) processor.ring.read(sink);
}

}  // namespace farport::router
