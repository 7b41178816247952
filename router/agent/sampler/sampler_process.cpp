#include "router/agent/sampler/sampler_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <new>
#include <optional>
#include <tuple>
#include <unordered_map>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/resources.hpp"
#include "confinement/system_calls.hpp"
#include "router/agent/runtimes/process_root.hpp"
#include "router/agent/sampler/native_symbols.hpp"
#include "router/agent/sampler/perf_counters.hpp"
#include "router/agent/sampler/thread_walker.hpp"
#include "router/agent/sampler/user_files.hpp"
#include "router/helpers/passed_message.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

bool SampleOutput::full() const {
  return pending_.size() > most_;
}

void SampleOutput::write(std::string_view bytes) {
  pending_ += bytes;
  write_pending();
}

void SampleOutput::write_pending() {
  while (!pending_.empty() && !broken_) {
    const ssize_t written = ::write(fd_, pending_.data(), pending_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written < 0) broken_ = true;
    if (written > 0) pending_.erase(0, static_cast<std::size_t>(written));
  }
}

void SampleOutput::finish() {
  while (!pending_.empty() && !broken_) {
    pollfd writable{fd_, POLLOUT, 0};
    constexpr int kForEver = -1;
    std::ignore = ::poll(&writable, 1, kForEver);
    write_pending();
  }
}

namespace {

constexpr std::uint64_t kMaxCalls = 1U << 18U;
/// The size of a call in the map.
constexpr std::uint64_t kCallBytes = 64;

/// An address within the instruction that was interrupted or that made the call. Callers are known by their
/// return address, which may already belong to another function.
std::uint64_t within(const std::vector<std::uint64_t>& part, std::size_t place) {
  return place == 0 ? part[0] : part[place] - 1;
}

}  // namespace

StackTree::StackTree(std::uint64_t kernel_base, std::uint64_t memory)
    : kernel_base_(kernel_base), most_calls_(std::min(memory / kCallBytes, kMaxCalls)) {}

CallNumber StackTree::add(const PerfSample& sample, SampleSink& to) {
  CallNumber caller = 0;
  for (std::size_t i = sample.user.size(); i-- > 0;) {
    // Skip addresses that look like the kernel's, since a process may put anything on its stacks.
    const std::uint64_t address = within(sample.user, i);
    if (!is_kernel_address(address)) caller = call(caller, address, to);
  }
  for (std::size_t i = sample.kernel.size(); i-- > 0;) {
    const std::uint64_t address = within(sample.kernel, i) - kernel_base_;
    if (is_kernel_address(address)) caller = call(caller, address, to);
  }
  return caller;
}

CallNumber StackTree::call(CallNumber caller, std::uint64_t address, SampleSink& to) {
  const Edge edge{caller, address};
  const auto known = calls_.find(edge);
  if (known != calls_.end()) return known->second;
  if (calls_.size() >= most_calls_) return caller;
  const auto number = static_cast<CallNumber>(calls_.size() + 1);
  calls_.emplace(edge, number);
  to.on_call({caller, address});
  return number;
}

std::vector<std::uint64_t> StackTree::addresses() const {
  std::vector<std::uint64_t> all;
  all.reserve(calls_.size());
  for (const auto& [edge, number] : calls_) all.push_back(edge.address);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

namespace {

using Clock = std::chrono::steady_clock;

/// The most names that are remembered or told, so that a process that keeps renaming threads fills nothing.
constexpr std::size_t kMaxThreadNames = 20'000;

/// A sampling's memory for calls, in bytes.
std::uint64_t memory_for_calls(const SamplingRequest& request) {
  return request.memory / 4;
}

/// What the kernel may keep for a sampling beyond its memory, in bytes. No limit of a process bounds that.
std::uint64_t memory_for_kernel(const SamplingRequest& request) {
  return request.event == SamplingEvent::cpu ? request.memory : request.memory / 4;
}

/// A sampling's memory for reading a file's symbols, which happens in a process of its own. In bytes.
std::uint64_t memory_for_symbols(const SamplingRequest& request) {
  return request.memory / 4;
}

/// Clock::now() is the clock of the samples, CLOCK_MONOTONIC.
std::int64_t nanoseconds_of(Clock::time_point time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

timespec time_until(Clock::time_point time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t left = std::max<std::int64_t>(nanoseconds_of(time) - nanoseconds_of(Clock::now()), 0);
  return {left / kSecond, left % kSecond};
}

/// A random offset, less than the distance from the start of the kernel's half to any of its code.
std::uint64_t secret_base() {
  constexpr std::uint64_t kPages = 0xFFFFFFF;
  std::uint64_t random = 0;
  std::ignore = ::getrandom(&random, sizeof random, 0);
  return (random & kPages) << 12U;
}

bool is_ready(const pollfd& polled) {
  return polled.revents != 0;
}

/// Explains what the kernel has refused. Other errors explain themselves.
Error explained(const PerfFacts& facts, Error error) {
  if (!error.hint.empty()) return error;
  return explain_perf_refusal(facts, static_cast<int>(error.cause.value()));
}

/// One sampling: the process's memory and threads, and the samples on their way out.
class Sampling final : private PerfSink {
 public:
  Sampling(const SamplingRequest& request, SampleOutput& output)
      : request_(request), output_(output), base_(secret_base()), stacks_(base_, memory_for_calls(request)) {}

  /// Errors: the process can't be sampled.
  Result<void> begin(const UniqueFd& process);
  SamplingEnd run(const UniqueFd& process, const UniqueFd& control);
  /// The beginning of the stream, once begin() has succeeded.
  [[nodiscard]] std::string beginning() { return writer_.take(); }
  void name_addresses();
  void end(SamplingEnd how);

 private:
  void on_sample(const PerfSample& taken) override;
  void on_same_stack(pid_t thread, std::uint64_t time) override;
  void on_thread_start(pid_t, pid_t) override {}
  void on_thread_exit(pid_t process, pid_t thread) override;
  void on_name(pid_t thread, std::string_view name) override;
  void on_mapped(pid_t process, MappedFile file) override;
  void on_lost(std::uint64_t records) override { lost_ += records; }

  [[nodiscard]] Result<std::unique_ptr<SampleSource>> open_source();
  void tell_what_is_missing();
  void tell_sample(pid_t thread, std::uint64_t time, CallNumber call);
  void send_names();
  void name_system_calls(const std::vector<std::uint64_t>& addresses);
  [[nodiscard]] std::string name_of(pid_t thread) const;
  void tell_name(pid_t thread, std::string_view name);
  void take();

  SamplingRequest request_;
  SampleOutput& output_;
  std::uint64_t base_;
  SampleWriter writer_;
  StackTree stacks_;
  AddressSpace space_;
  std::optional<ProcessRoot> root_;
  std::unique_ptr<SampleSource> source_;
  Clock::time_point began_;
  std::unordered_map<pid_t, CallNumber> last_;  ///< The last call of each thread that has been sampled.
  std::unordered_map<pid_t, std::string> names_;
  std::vector<pid_t> gone_;  ///< Threads that have ended since the last look.
  std::size_t heard_ = 0;    ///< How many names threads have given themselves.
  std::size_t names_told_ = 0;
  std::uint64_t samples_told_ = 0;
  std::uint64_t lost_ = 0;
  bool opening_ = true;  ///< Samples are left out until all threads are sampled.
};

Result<std::unique_ptr<SampleSource>> Sampling::open_source() {
  if (request_.event == SamplingEvent::wall)
    return ThreadWalker::open(request_.process, request_.user, request_.frequency, space_, base_,
                              memory_for_kernel(request_));
  auto counters = PerfCounters::open(request_.process, request_.frequency, request_.kernel, *this,
                                     memory_for_kernel(request_));
  if (!counters) return tl::unexpected(explained(look_at_perf(request_.user), counters.error()));
  return std::move(*counters);
}

Result<void> Sampling::begin(const UniqueFd& process) {
  // Open the root now, since it is only there as long as the process is.
  auto root = ProcessRoot::open(request_.process);
  if (root) root_.emplace(std::move(*root));
  ASSIGN_OR_RETURN(auto source, open_source());
  source_ = std::move(source);
  read_maps_of(request_.process, [this](MappedFile file) { space_.add(std::move(file)); });
  pollfd ended{process.get(), POLLIN, 0};
  // If it has not ended, all of the above is about this process, and not about a later one with its pid.
  if (::poll(&ended, 1, 0) != 0) return fail("profile", "the process", "it has ended", {});
  opening_ = false;
  began_ = Clock::now();
  writer_.on_start({request_.frequency, source_->clock(), source_->kernel(), began_.time_since_epoch()});
  tell_what_is_missing();
  return {};
}

void Sampling::tell_what_is_missing() {
  const bool computing = request_.event == SamplingEvent::cpu;
  if (computing && !request_.kernel) {
    writer_.on_note(
        "stacks end where they enter the kernel: its functions take the permission profile-kernel");
  } else if (computing && !source_->kernel()) {
    writer_.on_note(explain_missing_kernel(look_at_perf(request_.user)));
  }
  if (root_) return;
  const Error why = explain_refusal("it", credentials_of(::getpid()), credentials_of(request_.process));
  writer_.on_note("native functions have no names: " + why.why + "; " + why.hint);
}

void Sampling::on_sample(const PerfSample& taken) {
  if (opening_ || taken.process != request_.process) return;
  PerfSample sample = taken;
  if (request_.event == SamplingEvent::cpu && !source_->kernel()) sample.kernel.clear();
  tell_sample(sample.thread, sample.time, stacks_.add(sample, writer_));
}

void Sampling::on_same_stack(pid_t thread, std::uint64_t time) {
  const auto last = last_.find(thread);
  if (last != last_.end()) tell_sample(thread, time, last->second);
}

void Sampling::tell_sample(pid_t thread, std::uint64_t time, CallNumber call) {
  if (last_.insert_or_assign(thread, call).second) tell_name(thread, name_of(thread));
  if (output_.full()) {
    ++lost_;
    return;
  }
  ++samples_told_;
  const auto since = static_cast<std::int64_t>(time) - nanoseconds_of(began_);
  writer_.on_sample(
      {std::chrono::nanoseconds(std::max<std::int64_t>(since, 0)), static_cast<std::uint32_t>(thread), call});
}

void Sampling::on_name(pid_t thread, std::string_view name) {
  if (++heard_ <= kMaxThreadNames) names_[thread] = name;
  if (last_.contains(thread)) tell_name(thread, name);
}

void Sampling::on_thread_exit(pid_t process, pid_t thread) {
  // Its last samples may come with the next read, since each processor has its own order.
  if (process == request_.process) gone_.push_back(thread);
}

/// The thread's last known name, since the thread may be gone by now.
std::string Sampling::name_of(pid_t thread) const {
  const auto known = names_.find(thread);
  if (known != names_.end()) return known->second;
  return thread_name(request_.process, thread);
}

void Sampling::tell_name(pid_t thread, std::string_view name) {
  if (!name.empty() && ++names_told_ <= kMaxThreadNames)
    writer_.on_thread(static_cast<std::uint32_t>(thread), name);
}

void Sampling::on_mapped(pid_t process, MappedFile file) {
  // Mappings without a file have paths that begin with two slashes.
  if (process == request_.process && !file.path.starts_with("//")) space_.add(std::move(file));
}

void Sampling::take() {
  end_if_stuck();
  const std::vector<pid_t> gone = std::exchange(gone_, {});
  source_->read(*this);
  for (const pid_t thread : gone) {
    last_.erase(thread);
    names_.erase(thread);
  }
  if (lost_ > 0) writer_.on_lost(std::exchange(lost_, 0));
  output_.write(writer_.take());
}

SamplingEnd Sampling::run(const UniqueFd& process, const UniqueFd& control) {
  const auto until = began_ + std::chrono::seconds(request_.seconds);
  for (auto next = began_;;) {
    std::array<pollfd, 3> polled{pollfd{process.get(), POLLIN, 0}, pollfd{control.get(), POLLIN, 0},
                                 pollfd{output_.fd(), static_cast<short>(output_.waits() ? POLLOUT : 0), 0}};
    const timespec pause = time_until(next);
    std::ignore = ::ppoll(polled.data(), polled.size(), &pause, nullptr);
    const bool process_ended = is_ready(polled[0]);
    const bool stopped = is_ready(polled[1]);
    // The kernel has samples up to the end, so read once more.
    const bool last = request_.event == SamplingEvent::cpu && (process_ended || stopped);
    if (Clock::now() >= next || last) {
      take();
      next = std::max(next + source_->interval(), Clock::now());
    } else if (output_.waits()) {
      output_.write({});
    }
    if (output_.broken() || (polled[2].revents & POLLERR) != 0) return SamplingEnd::failed;
    if (process_ended) return SamplingEnd::process_ended;
    if (stopped) return SamplingEnd::stopped;
    if (Clock::now() >= until) return SamplingEnd::time_over;
    if (samples_told_ >= sample_record::kMaxSamples) {
      writer_.on_note("the profile was cut short: it reached the maximum number of samples");
      return SamplingEnd::time_over;
    }
  }
}

void Sampling::name_addresses() {
  end_if_stuck();
  // Stop sampling, so that reading symbols is not sampled.
  source_.reset();
  std::vector<std::uint64_t> addresses = stacks_.addresses();
  const auto kernel = std::partition_point(addresses.begin(), addresses.end(),
                                           [](std::uint64_t each) { return !is_kernel_address(each); });
  const std::vector<std::uint64_t> of_kernel(kernel, addresses.end());
  addresses.erase(kernel, addresses.end());
  NativeSymbols names(std::move(root_), request_.user, memory_for_symbols(request_));
  names.tell(space_, addresses, writer_, [this] { send_names(); });
  if (of_kernel.empty()) return;
  if (request_.event == SamplingEvent::wall) return name_system_calls(of_kernel);
  std::ifstream kallsyms("/proc/kallsyms");
  if (tell_kernel_symbols(kallsyms, of_kernel, base_, writer_)) return;
  writer_.on_note(
      "the kernel's functions have no names here: /proc/kallsyms hides them from all who lack CAP_SYSLOG");
}

/// Sends the names file by file, since all of them may exceed the memory. The reader may take its time.
void Sampling::send_names() {
  ::alarm(0);
  output_.write(writer_.take());
  output_.finish();
  end_if_stuck();
}

void Sampling::name_system_calls(const std::vector<std::uint64_t>& addresses) {
  for (const std::uint64_t address : addresses) {
    const auto number = static_cast<std::uint32_t>(address - system_call_address(0));
    writer_.on_symbol({address, address + 1, confinement::system_call_name(number), {}});
  }
}

void Sampling::end(SamplingEnd how) {
  // From here on only the reader is waited for, and it may take its time.
  ::alarm(0);
  writer_.on_end(how, {});
  output_.write(writer_.take());
  output_.finish();
}

void refuse(SampleOutput& output, char kind, const Error& why) {
  output.write(kind + why.why + '\0' + why.hint);
  output.finish();
}

/// Sets `begun` once it samples.
void sample(const SamplingRequest& request, const UniqueFd& process, const UniqueFd& control,
            SampleOutput& output, bool& begun) {
  Sampling sampling(request, output);
  const Result<void> can = sampling.begin(process);
  if (!can) return refuse(output, can.error().cause == ENOMEM ? kNoMemory : kRefused, can.error());
  output.write(kSampling + sampling.beginning());
  begun = true;
  const SamplingEnd how = sampling.run(process, control);
  if (output.broken() || how == SamplingEnd::failed) return;
  sampling.name_addresses();
  sampling.end(how);
}

}  // namespace

void run_sampling(const SamplingRequest& request, const UniqueFd& process, const UniqueFd& samples,
                  const UniqueFd& control) {
  limit_memory(request.memory - memory_for_symbols(request), memory_for_symbols(request));
  SampleOutput output(samples.get(), request.memory / 16);
  bool begun = false;
  try {
    sample(request, process, control, output, begun);
  } catch (const std::bad_alloc&) {
    const Error much{"profile", "the process",
                     fmt::format("it exceeds its memory limit of {} MiB", request.memory >> 20U),
                     "raise the agent's memory limit"};
    if (!begun) return refuse(output, kNoMemory, much);
    ::alarm(0);
    // The stream has already begun, so end it properly.
    SampleWriter last;
    std::ignore = last.take();
    last.on_end(SamplingEnd::failed, much.why + "; " + much.hint);
    output.write(last.take());
    output.finish();
  }
}

namespace {

/// The pidfd, the pipe for the answer, and the control.
constexpr std::size_t kDescriptors = 3;

/// The first byte of a request.
constexpr char kSample = 's';
constexpr char kSendModules = 'm';
constexpr char kLookAt = 'l';

constexpr int kLookMilliseconds = 2000;
/// Of an answer to a look: two paths.
constexpr std::size_t kMaxSeen = 16 * 1024;

template <typename Request>
std::string encoded(char what, const Request& request) {
  return std::string(1, what).append(reinterpret_cast<const char*>(&request), sizeof request);
}

template <typename Request>
std::optional<Request> decoded(char what, std::string_view bytes) {
  Request request;
  if (bytes.size() != 1 + sizeof request || bytes.front() != what) return std::nullopt;
  std::memcpy(&request, bytes.data() + 1, sizeof request);
  return request;
}

void take(std::string_view bytes, const std::vector<UniqueFd>& descriptors) {
  const auto look = decoded<LookRequest>(kLookAt, bytes);
  if (look && descriptors.size() == 1) return look_at_process(*look, descriptors.front());
  if (descriptors.size() != kDescriptors) return;
  if (const auto sampling = decoded<SamplingRequest>(kSample, bytes))
    run_sampling(*sampling, descriptors[0], descriptors[1], descriptors[2]);
  if (const auto modules = decoded<ModulesRequest>(kSendModules, bytes))
    send_modules(*modules, descriptors[0], descriptors[1]);
}

}  // namespace

Result<SamplerProcess> SamplerProcess::start(std::function<void()> confine) {
  ASSIGN_OR_RETURN(auto process, HelperProcess::start({kSamplerName, std::move(confine), take}));
  return SamplerProcess(std::move(process));
}

Result<SamplerEnds> SamplerProcess::begin(const SamplingRequest& request, const UniqueFd& process) const {
  return begin(encoded(kSample, request), process);
}

Result<SamplerEnds> SamplerProcess::begin(const ModulesRequest& request, const UniqueFd& process) const {
  return begin(encoded(kSendModules, request), process);
}

Result<SamplerEnds> SamplerProcess::begin(std::string_view request, const UniqueFd& process) const {
  ASSIGN_OR_RETURN(auto answer, make_pipe(O_CLOEXEC | O_NONBLOCK));
  ASSIGN_OR_RETURN(auto control, make_pipe(O_CLOEXEC));
  ASSIGN_OR_RETURN(auto lifeline,
                   process_.begin(request, {process.get(), answer.writing.get(), control.reading.get()}));
  return SamplerEnds{std::move(answer.reading), std::move(control.writing), std::move(lifeline)};
}

namespace {

/// poll(2) for at most so many milliseconds each, once more when a signal interrupts it.
int poll_one(pollfd& of, int most) {
  int found = 0;
  do {
    found = ::poll(&of, 1, most);
  } while (found < 0 && errno == EINTR);
  return found;
}

}  // namespace

Result<Seen> SamplerProcess::look(const LookRequest& request) const {
  const std::string on = "process " + std::to_string(request.process);
  ASSIGN_OR_RETURN(auto answer, make_socket_pair(SOCK_SEQPACKET));
  std::vector<char> bytes(kMaxSeen);
  PassedMessage message;
  bool answered = false;
  {
    if (!process_.running())
      return fail("look at", on, "the agent's process that takes profiles has ended",
                  "start the agent again");
    ASSIGN_OR_RETURN(const auto lifeline, process_.begin(encoded(kLookAt, request), {answer.theirs.get()}));
    answer.theirs.reset();
    pollfd waited{answer.ours.get(), POLLIN, 0};
    answered = poll_one(waited, kLookMilliseconds) > 0;
    if (answered) message = receive_passed(answer.ours.get(), bytes);
  }
  // What the process blocks can't be killed. Wait for its end, so that it counts as one of its user's looks.
  pollfd gone{answer.ours.get(), 0, 0};
  std::ignore = poll_one(gone, -1);
  if (!answered)
    return fail("look at", on, "that took longer than two seconds: what does it do to its file systems?");
  if (message.bytes < 0) return fail("look at", on, "the look at it has failed");
  return Seen{std::string(bytes.data(), static_cast<std::size_t>(message.bytes)),
              std::move(message.descriptors)};
}

}  // namespace farport::router
