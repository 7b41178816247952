#include "router/symbols/file_symbols.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>
#include <string_view>
#include <tuple>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/resources.hpp"
#include "base/unique_fd.hpp"
#include "confinement/confinement.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kProcessorSeconds = 3;
/// Names of all functions of a stack that is sampled for an hour are less.
constexpr std::uint64_t kMostResult = 8U << 20U;

[[noreturn]] void work_and_tell(const std::function<std::string()>& work, int to, pid_t parent,
                                std::uint64_t memory) {
  std::string result;
  try {
    end_with(parent);
    limit_processor_time(kProcessorSeconds);
    limit_memory(memory);
    result = work();
  } catch (...) {
    // Nothing of this process is to go on with what the other one does.
    ::_exit(1);
  }
  for (std::string_view rest = result; !rest.empty();) {
    const ssize_t written = ::write(to, rest.data(), rest.size());
    if (written <= 0) ::_exit(1);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  ::_exit(0);
}

/// What comes until its end. Errors: not within the time, or too much.
Result<std::string> read_all(int from, Clock::time_point until, std::uint64_t most) {
  std::string all;
  for (std::array<char, 16 * 1024> part{};;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd readable{from, POLLIN, 0};
    if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) == 0) {
      return fail("read", "the symbols", "it takes too long");
    }
    const ssize_t got = ::read(from, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return all;
    all.append(part.data(), static_cast<std::size_t>(got));
    if (all.size() > most) return fail("read", "the symbols", "there are too many");
  }
}

}  // namespace

Result<std::string> run_isolated(const std::function<std::string()>& work, std::chrono::milliseconds limit,
                                 std::uint64_t memory) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("make", "a pipe", errno);
  UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("start", "a process", errno);
  if (child == 0) work_and_tell(work, to.get(), self, memory);
  to.reset();
  auto result = read_all(from.get(), Clock::now() + limit, std::min(memory / 4, kMostResult));
  if (!result) ::tgkill(child, child, SIGKILL);
  // One that still writes does not wait for us.
  from.reset();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!result || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return result;
  return fail("read", "the symbols", "what reads them has crashed");
}

namespace {

/// What the answer of an isolated process begins with.
constexpr char kUsable = 'u';
constexpr char kUnusable = '-';

class FileSymbolsSink final : public SampleSink {
 public:
  void on_mapping(SampledMapping mapping) override { told.parts.push_back(std::move(mapping)); }
  void on_symbol(SampledSymbol symbol) override { told.symbols.push_back(std::move(symbol)); }
  void on_end(SamplingEnd, std::string_view text) override { told.why = text; }

  FileSymbols told;
};

std::string open_and_read(const OpenFiles& open, const ReadFile& read) {
  std::string why;
  const std::vector<UniqueFd> files = open(why);
  const bool confined = confinement::confine_parser();
  if (!confined) why = "the kernel does not let the process that reads it give up its rights (seccomp)";
  SampleWriter told;
  told.on_start({1, SampleClock::cpu_clock, false});
  const bool usable = confined && std::any_of(files.begin(), files.end(),
                                              [&](const UniqueFd& file) { return read(file.get(), told); });
  told.on_end(SamplingEnd::time_over, why);
  return (usable ? kUsable : kUnusable) + told.take();
}

}  // namespace

Result<FileSymbols> read_file_symbols(const OpenFiles& open, const ReadFile& read,
                                      std::chrono::milliseconds limit, std::uint64_t memory) {
  const auto answer = run_isolated([&] { return open_and_read(open, read); }, limit, memory);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->empty()) return fail("read", "the symbols", "there is no answer");
  FileSymbolsSink sink;
  SampleReader reader(sink);
  const Result<void> read_whole = reader.read(std::as_bytes(std::span(*answer).subspan(1)));
  if (!read_whole) return tl::unexpected(read_whole.error());
  sink.told.usable = answer->front() == kUsable;
  return std::move(sink.told);
}

UniqueFd regular_only(UniqueFd file, std::string& why) {
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    why = std::strerror(errno);
    return {};
  }
  if (S_ISREG(status.st_mode)) return file;
  why = "it is no regular file";
  return {};
}

std::vector<std::uint64_t> without_names(const std::vector<std::uint64_t>& addresses,
                                         std::vector<SampledSymbol> symbols) {
  std::sort(symbols.begin(), symbols.end(),
            [](const SampledSymbol& one, const SampledSymbol& other) { return one.start < other.start; });
  std::vector<std::uint64_t> without;
  auto symbol = symbols.begin();
  for (const std::uint64_t address : addresses) {
    while (symbol != symbols.end() && symbol->end <= address) ++symbol;
    if (symbol == symbols.end() || address < symbol->start) without.push_back(address);
  }
  return without;
}

}  // namespace farport::router
