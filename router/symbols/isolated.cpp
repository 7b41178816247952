#include "router/symbols/isolated.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/resources.hpp"
#include "base/unique_fd.hpp"

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

}  // namespace farport::router
