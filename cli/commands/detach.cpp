#include "cli/commands/detach.hpp"

#include <array>
#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "cli/options/commands.hpp"
#include "cli/terminal/text.hpp"

namespace farport::cli {
namespace {

constexpr int kReportFd = 3;

/// Standard streams that lead nowhere, the report, and nothing else: what is open here may be what ssh or a
/// script waits for.
UniqueFd leave_files(UniqueFd report) {
  // Out of the way first: it has a standard stream's number where this was started without.
  report = UniqueFd(::fcntl(report.get(), F_DUPFD_CLOEXEC, kReportFd + 1));
  close_streams();
  ::dup3(report.get(), kReportFd, O_CLOEXEC);
  report = UniqueFd(kReportFd);
  ::close_range(kReportFd + 1, ~0U, 0);
  return report;
}

std::string read_whole(int fd) {
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t got = ::read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

/// The exit code stands in the first byte.
int pass_on(const std::string& reported) {
  if (reported.empty()) {
    return report(Error{"start", "the detached mirror", "it ended without a word", {}, 0});
  }
  const int exit_code = static_cast<unsigned char>(reported.front());
  std::fputs(reported.c_str() + 1, exit_code == kSuccess ? stdout : stderr);
  return exit_code;
}

}  // namespace

void close_streams() {
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, fd);
  if (nowhere > STDERR_FILENO) ::close(nowhere);
}

int StartReport::failed(const Error& error, int exit_code) {
  send(exit_code, "farport: " + escape(error.message()) + "\n");
  return exit_code;
}

bool StartReport::send(int exit_code, const std::string& text) {
  const std::string all = static_cast<char>(exit_code) + text;
  for (std::size_t sent = 0; sent < all.size();) {
    const ssize_t written = ::write(to_.get(), all.data() + sent, all.size() - sent);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    sent += static_cast<std::size_t>(written);
  }
  to_.reset();
  return true;
}

Result<Detached> detach() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("make", "a pipe", errno);
  UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("start", "the detached mirror", errno);
  if (child > 0) {
    to.reset();
    return Detached{pass_on(read_whole(from.get())), {}};
  }
  ::setsid();
  from.reset();
  return Detached{{}, StartReport(leave_files(std::move(to)))};
}

}  // namespace farport::cli
