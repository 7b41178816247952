#include "router/agent/sampler/thread_walker.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <linux/capability.h>
#include <unistd.h>

#include "base/process_stat.hpp"
#include "base/resources.hpp"
#include "router/agent/runtimes/process_root.hpp"

namespace farport::router {
namespace {

/// The page size on all systems on which stacks are walked.
constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kStackPages = 4;
/// The most pages kept: 1 MiB.
constexpr std::size_t kMaxRemembered = 256;

}  // namespace

PresentPages::PresentPages(pid_t process)
    : map_(::open((directory_of_process(process) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC)) {}

std::size_t PresentPages::readable(std::uint64_t address, std::size_t bytes) const {
  // Present, or swapped out.
  constexpr std::uint64_t kThere = std::uint64_t{3} << 62U;
  constexpr std::size_t kAtOnce = 16;
  if (!map_) return bytes;
  std::size_t readable = 0;
  while (readable < bytes) {
    const std::uint64_t first = (address + readable) / kPage;
    const std::uint64_t last = (address + bytes - 1) / kPage;
    std::array<std::uint64_t, kAtOnce> entries{};
    const std::size_t wanted = std::min<std::uint64_t>(last - first + 1, entries.size());
    const ssize_t got = ::pread(map_.get(), entries.data(), wanted * sizeof entries[0],
                                static_cast<off_t>(first * sizeof entries[0]));
    if (got <= 0) return readable;
    const std::size_t known = static_cast<std::size_t>(got) / sizeof entries[0];
    for (std::size_t at = 0; at < known; ++at) {
      if ((entries.at(at) & kThere) == 0) return readable;
      readable = std::min<std::uint64_t>(bytes, (first + at + 1) * kPage - address);
    }
  }
  return readable;
}

const ProcessPages::Page* ProcessPages::page_at(std::uint64_t address) {
  const std::uint64_t number = address / kPage;
  if (pages_.size() == kMaxRemembered && !pages_.contains(number)) pages_.clear();
  const auto [place, added] = pages_.try_emplace(number);
  Page& page = place->second;
  if (added) {
    const bool there = present_ == nullptr || present_->readable(number * kPage, kPage) == kPage;
    if (there) page.resize(kPage);
    const ssize_t got = ::pread(memory_, page.data(), page.size(), static_cast<off_t>(number * kPage));
    if (got != static_cast<ssize_t>(kPage)) page.clear();
  }
  return page.empty() ? nullptr : &page;
}

bool ProcessPages::read(std::uint64_t address, std::span<std::byte> to) {
  while (!to.empty()) {
    const Page* const page = page_at(address);
    if (page == nullptr) return false;
    const std::uint64_t place = address % kPage;
    const std::size_t size = std::min<std::size_t>(to.size(), kPage - place);
    std::memcpy(to.data(), page->data() + place, size);
    to = to.subspan(size);
    address += size;
  }
  return true;
}

Result<ProcessMemory> ProcessMemory::open(pid_t process) {
  UniqueFd memory(::open((directory_of_process(process) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory) return fail_errno("open the memory of", "the process", errno);
  return ProcessMemory(std::move(memory), process);
}

Result<void> ProcessMemory::take_stack(std::uint64_t stack_pointer) {
  beyond_.forget();
  stack_.resize(present_->readable(stack_pointer, kStackPages * kPage));
  // The read ends at a page that isn't mapped.
  const ssize_t got = ::pread(memory_.get(), stack_.data(), stack_.size(), static_cast<off_t>(stack_pointer));
  stack_begin_ = stack_pointer;
  stack_size_ = got > 0 ? static_cast<std::size_t>(got) : 0;
  if (got > 0) return {};
  return fail_errno("read the memory of", "the process", got < 0 ? errno : ESRCH);
}

bool ProcessMemory::read(std::uint64_t address, std::span<std::byte> to) {
  const std::uint64_t end = stack_begin_ + stack_size_;
  if (address < stack_begin_ || address >= end || to.size() > end - address) return beyond_.read(address, to);
  std::memcpy(to.data(), stack_.data() + (address - stack_begin_), to.size());
  return true;
}

namespace {

constexpr std::uint64_t kSystemCalls = std::uint64_t{1} << 63U;
/// The most threads of one process.
constexpr std::size_t kMaxWalkedThreads = 8192;
/// How long one look at all threads may take before other work is done.
constexpr std::chrono::milliseconds kLongestLook{50};
/// How often to look for new threads, and for new files in memory.
constexpr std::chrono::milliseconds kThreadsEvery{50};
constexpr std::chrono::milliseconds kMapsEvery{2000};
/// The longest line that the kernel writes about a thread.
constexpr std::size_t kThreadLine = 512;
/// Descriptors for the files that a look opens, in addition to those that are kept open.
constexpr std::size_t kOtherFiles = 32;
/// What the kernel keeps for an open file of a thread (seq_file(9): a page and its description).
constexpr std::uint64_t kFileBytes = 8192;

/// Reads a file of /proc from its beginning. Empty if it can't be read.
std::string_view read_again(int fd, std::span<char> space) {
  const ssize_t got = ::pread(fd, space.data(), space.size(), 0);
  return {space.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

/// What a thread is doing, by /proc/PID/task/TID/syscall (proc(5)): "NUMBER ARGUMENTS SP PC", "-1 SP PC" if
/// it is in no system call, or "running".
struct SyscallState {
  bool runs = false;
  std::optional<std::uint32_t> call;
  ThreadRegisters at;
};

std::uint64_t last_number(std::string_view& line) {
  const std::size_t blank = std::min(line.rfind(' '), line.size() - 1);
  std::string_view word = line.substr(blank + 1);
  line = line.substr(0, blank);
  if (word.starts_with("0x")) word.remove_prefix(2);
  std::uint64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number, 16);
  return number;
}

/// Returns nothing if the kernel shows nothing.
std::optional<SyscallState> parse_syscall_state(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  SyscallState doing;
  doing.runs = line.starts_with("running");
  if (doing.runs) return doing;
  if (line.find(' ') == std::string_view::npos) return std::nullopt;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error == std::errc()) doing.call = number;
  doing.at.instruction = last_number(line);
  doing.at.stack_pointer = last_number(line);
  if (doing.at.instruction == 0) return std::nullopt;
  return doing;
}

bool is_denial(int error) {
  return error == EACCES || error == EPERM;
}

/// The error when the system refuses, or has nothing of the kind.
Error denied(pid_t process, const char* what, int error) {
  Error why = is_denial(error) ? explain_refusal("it", credentials_of(::getpid()), credentials_of(process))
                               : fail_errno("inspect", what, error).value();
  return {"inspect", "the threads", is_denial(error) ? why.why : std::string(what) + ": " + why.why, why.hint,
          Cause(error)};
}

tl::unexpected<Error> ended() {
  return fail("inspect", "the threads", "the process has ended");
}

}  // namespace

std::uint64_t system_call_address(std::uint32_t number) {
  return kSystemCalls + number;
}

Result<std::unique_ptr<ThreadWalker>> ThreadWalker::open(pid_t process, uid_t user, std::uint32_t frequency,
                                                         const AddressSpace& space, std::uint64_t kernel_base,
                                                         std::uint64_t kernel_memory) {
#ifndef __x86_64__
  return fail("inspect", "the threads", "this agent can do that on x86-64 alone");
#endif
  // A file is kept open for each thread.
  raise_descriptor_limit();
  auto acting = user != 0 ? confinement::act_as(user, confinement::capability(CAP_SYS_PTRACE)) : std::nullopt;
  const bool acts = acting.has_value();
  const std::size_t files = descriptor_limit() - std::min<std::size_t>(descriptor_limit(), kOtherFiles);
  const auto most_files =
      static_cast<std::size_t>(std::min<std::uint64_t>(files, kernel_memory / kFileBytes));
  auto opened = open_as(std::move(acting), process, frequency, space, kernel_base, most_files);
  // The files of a process that isn't dumpable belong to root.
  const bool is_roots = !opened && acts && is_denial(static_cast<int>(opened.error().cause.value()));
  return is_roots ? open_as(std::nullopt, process, frequency, space, kernel_base, most_files)
                  : std::move(opened);
}

Result<std::unique_ptr<ThreadWalker>> ThreadWalker::open_as(std::optional<confinement::ActingAs> acting,
                                                            pid_t process, std::uint32_t frequency,
                                                            const AddressSpace& space,
                                                            std::uint64_t kernel_base,
                                                            std::size_t most_files) {
  auto memory = ProcessMemory::open(process);
  if (!memory && (memory.error().cause == ENOENT || memory.error().cause == ESRCH)) return ended();
  if (!memory)
    return tl::unexpected(denied(process, "its memory", static_cast<int>(memory.error().cause.value())));
  std::unique_ptr<ThreadWalker> walker(new ThreadWalker(
      process, std::move(*memory), std::chrono::nanoseconds(std::chrono::seconds(1)) / frequency, space,
      kernel_base, most_files));
  if (acting) walker->acting_.emplace(std::move(*acting));
  RETURN_IF_ERROR(walker->try_out());
  return walker;
}

/// Tries everything that a look needs on a thread that exists; others may end meanwhile.
Result<void> ThreadWalker::try_out() {
  std::array<char, kThreadLine> line{};
  for (const pid_t thread : threads_of(process_, kMaxWalkedThreads)) {
    int error = 0;
    for (const char* const file : {"syscall", "schedstat"}) {
      // An empty file is as good as none.
      errno = EOPNOTSUPP;
      const UniqueFd opened(::open(path_of(thread, file).c_str(), O_RDONLY | O_CLOEXEC));
      if (opened) errno = EOPNOTSUPP;
      if (opened && !read_again(opened.get(), line).empty()) continue;
      error = errno;
      if (error != ENOENT && error != ESRCH) return tl::unexpected(denied(process_, file, error));
      break;
    }
    if (error == 0) return {};
  }
  return ended();
}

std::string ThreadWalker::path_of(pid_t thread, const char* file) const {
  return directory_of_process(process_) + "/task/" + std::to_string(thread) + "/" + file;
}

void ThreadWalker::read(PerfSink& sink) {
  const auto began = Clock::now();
  // With many threads, or slow reads, rest so long that this takes no more than a third of a processor.
  if (began < rests_until_) return;
  const auto missed = last_read_ ? (began - *last_read_ - interval_ / 2) / interval_ : 0;
  last_read_ = began;
  if (began - threads_found_ >= kThreadsEvery) find_threads(sink);
  if (began - maps_read_ >= kMapsEvery) read_maps(sink);
  // Begin with the threads for which there was no time at the last look.
  auto next = threads_.lower_bound(next_);
  std::size_t left = threads_.size();
  for (; left > 0 && Clock::now() - began < kLongestLook; --left) {
    if (next == threads_.end()) next = threads_.begin();
    next = sample(next->first, next->second, sink) ? std::next(next) : threads_.erase(next);
  }
  next_ = next == threads_.end() ? 0 : next->first;
  const std::uint64_t lost = left + (missed > 0 ? static_cast<std::uint64_t>(missed) * threads_.size() : 0);
  if (lost > 0) sink.on_lost(lost);
  const auto ended = Clock::now();
  rests_until_ = ended + 2 * (ended - began);
}

void ThreadWalker::find_threads(PerfSink& sink) {
  threads_found_ = Clock::now();
  const std::vector<pid_t> there = threads_of(process_, kMaxWalkedThreads);
  for (auto& [number, thread] : threads_) thread.there = false;
  for (const pid_t number : there) {
    const auto known = threads_.find(number);
    if (known != threads_.end()) known->second.there = true;
  }
  for (auto each = threads_.begin(); each != threads_.end();) {
    if (!each->second.there) sink.on_thread_exit(process_, each->first);
    each = each->second.there ? std::next(each) : threads_.erase(each);
  }
  auto files = std::count_if(threads_.begin(), threads_.end(),
                             [](const auto& each) { return bool(each.second.schedule); });
  for (const pid_t number : there) {
    if (threads_.contains(number)) continue;
    Thread thread;
    if (std::cmp_less(files, most_files_))
      thread.schedule = UniqueFd(::open(path_of(number, "schedstat").c_str(), O_RDONLY | O_CLOEXEC));
    if (thread.schedule) ++files;
    threads_.emplace(number, std::move(thread));
  }
}

void ThreadWalker::read_maps(PerfSink& sink) {
  maps_read_ = Clock::now();
  walk_.forget();
  memory_.code().forget();
  read_maps_of(process_, [&](MappedFile file) { sink.on_mapped(process_, std::move(file)); });
}

bool ThreadWalker::sample(pid_t number, Thread& thread, PerfSink& sink) {
  const std::optional<std::string> schedule = schedule_of(number, thread);
  if (schedule && schedule->empty()) {
    sink.on_thread_exit(process_, number);
    return false;
  }
  if (!schedule) {
    sink.on_lost(1);
    return true;
  }
  const std::string& ran = *schedule;
  const auto now =
      static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
  if (ran == thread.ran) {
    sink.on_same_stack(number, now);
    return true;
  }
  tell_name(number, thread, sink);
  auto sample = look(number, thread, ran);
  // A running thread has no stack that could be the same again.
  thread.ran = sample && !sample->user.empty() ? ran : std::string();
  if (!sample) {
    sink.on_lost(1);
    return true;
  }
  sample->time = now;
  sink.on_sample(*sample);
  return true;
}

std::optional<std::string> ThreadWalker::schedule_of(pid_t number, const Thread& thread) const {
  std::array<char, kThreadLine> space{};
  if (thread.schedule) return std::string(read_again(thread.schedule.get(), space));
  const UniqueFd file(::open(path_of(number, "schedstat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno != ENOENT && errno != ESRCH) return std::nullopt;
  return std::string(read_again(file.get(), space));
}

void ThreadWalker::tell_name(pid_t number, Thread& thread, PerfSink& sink) const {
  std::string name = thread_name(process_, number);
  if (name == thread.name) return;
  thread.name = name;
  sink.on_name(number, name);
}

std::optional<PerfSample> ThreadWalker::look(pid_t number, const Thread& thread, const std::string& ran) {
  PerfSample sample;
  sample.process = process_;
  sample.thread = number;
  const UniqueFd file(::open(path_of(number, "syscall").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, kThreadLine> space{};
  const auto doing = parse_syscall_state(read_again(file.get(), space));
  if (!doing) return std::nullopt;
  if (doing->runs) return sample;
  // Without a stack there is still the current instruction.
  sample.user = memory_.take_stack(doing->at.stack_pointer) ? walk_.walk(doing->at)
                                                            : std::vector{doing->at.instruction};
  if (doing->call) sample.kernel.push_back(system_call_address(*doing->call) + kernel_base_);
  // If it has run meanwhile, what was read is from two moments.
  if (schedule_of(number, thread) != ran) return std::nullopt;
  return sample;
}

}  // namespace farport::router
