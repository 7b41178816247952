#include "router/agent/recorder/process_end.hpp"

#include <csignal>

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "base/text.hpp"
#include "transport/child_process.hpp"

namespace farport::router {
namespace {

/// struct pidfd_info (linux/pidfd.h), which older headers don't have.
struct PidfdInfo {
  std::uint64_t mask = 0;
  std::uint64_t cgroup = 0;
  std::uint32_t ids[11] = {};
  std::int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == kPidfdInfoBytes);
/// PIDFD_INFO_EXIT.
constexpr std::uint64_t kInfoExit = 1U << 3U;
constexpr std::size_t kMaxStat = 4096;

std::optional<ProcessEnd> end_by_pidfd(int pidfd) {
  PidfdInfo info;
  info.mask = kInfoExit;
  if (::ioctl(pidfd, kPidfdGetInfo, &info) != 0 || (info.mask & kInfoExit) == 0) return std::nullopt;
  return ProcessEnd{info.exit_code};
}

/// The last field of /proc/PID/stat, of a process that waits for its parent.
std::optional<ProcessEnd> end_by_stat(pid_t pid, std::uint64_t start) {
  const auto stat = process_stat(pid);
  if (!stat || stat->start_time != start || stat->state != 'Z') return std::nullopt;
  const auto text = read_limited(directory_of_process(pid) + "/stat", kMaxStat);
  if (!text) return std::nullopt;
  std::string_view fields = *text;
  while (!fields.empty() && fields.back() == '\n') fields.remove_suffix(1);
  const auto status = number_in<int>(fields.substr(fields.rfind(' ') + 1));
  // Those who may not trace the process read a 0.
  if (!status || *status == 0) return std::nullopt;
  return ProcessEnd{*status};
}

}  // namespace

bool ProcessEnd::by_kill() const {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

std::string ProcessEnd::text() const {
  if (!WIFSIGNALED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  const char* const name = ::sigabbrev_np(number);
  std::string text = fmt::format("killed by signal {}", number);
  if (name != nullptr) text += fmt::format(" (SIG{})", name);
  return text;
}

WatchedProcess::WatchedProcess(pid_t pid, std::uint64_t start) : pid_(pid), start_(start) {
  if (pid <= 0 || start == 0) return;
  pidfd_ = transport::open_pidfd(pid);
  // The pid may belong to another process by now.
  if (transport::start_time_of(pid) != start) pidfd_ = {};
}

bool WatchedProcess::ended() const {
  if (!pidfd_) return false;
  pollfd look{pidfd_.get(), POLLIN, 0};
  return ::poll(&look, 1, 0) == 1;
}

std::optional<ProcessEnd> WatchedProcess::end() const {
  if (!ended()) return std::nullopt;
  const auto end = end_by_pidfd(pidfd_.get());
  return end ? end : end_by_stat(pid_, start_);
}

}  // namespace farport::router
