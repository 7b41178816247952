#include "cli/commands/detached_mirrors.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <span>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/log.hpp"
#include "base/output_file.hpp"
#include "cli/options/commands.hpp"
#include "cli/output/mirror_view.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/own_directory.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/table.hpp"
#include "transport/child_process.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::Task;

/// Size at which a mirror's own log is truncated.
constexpr off_t kMaxLogBytes = 1024 * 1024;

/// Refuses a second mirror of the same agent, which would show each runtime twice to tools. Removes what a
/// crash has left.
Result<void> check_not_running(const config::ConnectSettings& settings) {
  ASSIGN_OR_RETURN(const auto running, find_detached_mirrors());
  const std::vector<std::string> names = names_of(settings.remotes);
  for (const FoundMirror& found : running) {
    if (found.mirror.socket_dir != settings.socket_dir) continue;
    const std::vector<std::string>& theirs = found.mirror.agents;
    const auto both = std::find_first_of(names.begin(), names.end(), theirs.begin(), theirs.end());
    if (both == names.end()) continue;
    if (found.pid != 0) {
      return fail("connect to", *both, "a detached mirror for it is already running",
                  "stop that with: farport disconnect " + *both);
    }
    RETURN_IF_ERROR(end_detached_mirror(found));
  }
  return {};
}

/// The output of a detached mirror after its start. `notes`: why it shows nothing.
std::string first_words(const router::Mirror& mirror, const config::ConnectSettings& settings,
                        std::size_t columns, std::vector<std::string> notes) {
  if (settings.json) return MirrorView(ViewKind::json).changes(mirror);
  MirrorState state{mirror.rows(), mirror.links(), std::move(notes)};
  sort_rows(state.rows);
  std::string names;
  for (const std::string& name : names_of(settings.remotes)) names += " " + name;
  state.hint = (state.rows.empty() ? "" : "Use the LOCAL PIDs with any dotnet diagnostic tool. ") +
               ("Stop with: farport disconnect" + names);
  return join_lines(mirror_lines(state, {columns, 0}));
}

/// What a detached mirror needs to continue.
struct DetachedRun {
  const config::ConnectSettings& settings;
  StartReport& report;
  DetachedEntry& entry;
  std::size_t columns;
};

Task<Result<void>> go_on(router::Mirror& mirror, DetachedRun going, transport::StopSource& stop) {
  CO_RETURN_IF_ERROR(co_await mirror.start());
  {
    const transport::Deadline limit(mirror.loop(), router::kSettleLimit,
                                    [&mirror] { mirror.stop_settling(); });
    CO_RETURN_IF_ERROR(co_await mirror.settled());
  }
  CO_RETURN_IF_ERROR(going.entry.publish());
  std::vector<std::string> notes;
  if (mirror.lists_nothing() && !going.settings.json)
    notes = co_await explain_mirror(mirror, Missing::everything, false);
  const std::string words = first_words(mirror, going.settings, going.columns, std::move(notes));
  // The starting command was interrupted meanwhile, so its user does not want the mirror.
  if (!going.report.succeeded(words)) co_return Result<void>{};
  co_await stop.wait();
  co_return Result<void>{};
}

int run_detached(const config::ConnectSettings& settings, StartReport report, std::size_t columns) {
  const auto entry = DetachedEntry::make({names_of(settings.remotes), settings.socket_dir, settings.log_file,
                                          router::utc_text(std::chrono::system_clock::now())});
  if (!entry) return report.failed(entry.error(), kFailure);
  const int log_fd = (*entry)->log_fd();
  ::dup2(log_fd, STDERR_FILENO);
  std::function<void()> bound;
  if ((*entry)->has_own_log()) {
    bound = [log_fd] {
      struct stat status {};
      if (::fstat(log_fd, &status) == 0 && status.st_size > kMaxLogBytes)
        std::ignore = ::ftruncate(log_fd, 0);
    };
  }
  const auto log = make_log(settings.log.level, settings.log.format, std::move(bound));
  if (!log) return report.failed(log.error(), kUsage);
  auto wanted = mirror_settings(settings, [to = *log](const std::string& what) { to->warn("{}", what); });
  if (!wanted) return report.failed(wanted.error(), kUsage);
  transport::Loop loop;
  router::Mirror mirror(loop, *log, std::move(*wanted));
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM, SIGHUP}, [&](int number) {
    if (number == SIGHUP) return mirror.reload_certificates();
    mirror.stop_settling();
    stop.stop();
  });
  const Result<void> went = loop.run(go_on(mirror, DetachedRun{settings, report, **entry, columns}, stop));
  loop.run(mirror.leave());
  if (went) return kSuccess;
  (*log)->error("{}", went.error().message());
  return report.failed(went.error(), kFailure);
}

}  // namespace

int connect_detached(const config::ConnectSettings& settings) {
  REPORT_IF_ERROR(check_not_running(settings));
  const std::size_t columns = terminal_size(STDOUT_FILENO).columns;
  ASSIGN_OR_REPORT(auto detached, detach());
  if (detached.exit_code) return *detached.exit_code;
  return run_detached(settings, std::move(*detached.report), columns);
}

namespace {

constexpr int kReportFd = 3;

/// Redirects the standard streams to /dev/null and closes everything but the report, since ssh or a script
/// may wait for open descriptors.
UniqueFd leave_files(UniqueFd report) {
  // Move the report away first: it may have the number of a standard stream.
  report = UniqueFd(::fcntl(report.get(), F_DUPFD_CLOEXEC, kReportFd + 1));
  close_streams();
  ::dup3(report.get(), kReportFd, O_CLOEXEC);
  report = UniqueFd(kReportFd);
  ::close_range(kReportFd + 1, ~0U, 0);
  return report;
}

/// Prints the report and returns the exit code, which is its first byte.
int pass_on(const std::string& reported) {
  if (reported.empty()) {
    return report(Error{"start", "the detached mirror", "it exited without reporting an error"});
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
  if (write_whole(to_.get(), std::as_bytes(std::span(all))) != 0) return false;
  to_.reset();
  return true;
}

Result<Detached> detach() {
  ASSIGN_OR_RETURN(auto pipe, make_pipe(O_CLOEXEC));
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("start", "the detached mirror", errno);
  if (child > 0) {
    pipe.writing.reset();
    const auto reported = read_limited(pipe.reading.get(), std::numeric_limits<std::size_t>::max());
    return Detached{pass_on(reported.value_or("")), {}};
  }
  ::setsid();
  pipe.reading.reset();
  return Detached{{}, StartReport(leave_files(std::move(pipe.writing)))};
}

namespace {

using nlohmann::json;

constexpr std::string_view kMirrorPrefix = "mirror-";
constexpr std::string_view kNewPrefix = ".mirror-";
constexpr std::size_t kMaxFile = 64 * 1024;
/// Time for a mirror to end: it closes its sessions in good order, and the network may be slow.
constexpr int kEndLimitMs = 15'000;

/// The pid of the lock's holder from the kernel; 0 if nobody holds it, negative if the process is not visible
/// here.
pid_t holder_of(int fd) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
  return lock.l_pid > 0 ? lock.l_pid : -1;
}

bool take_lock(int fd) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(fd, F_SETLK, &lock) == 0;
}

UniqueFd open_entry(const std::string& file) {
  return UniqueFd(::open(file.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

DetachedMirror parse(int fd) {
  std::string text(kMaxFile, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  const json object = json::parse(text, nullptr, false);
  DetachedMirror mirror;
  if (!object.is_object()) return mirror;
  try {
    mirror.agents = object.value("agents", mirror.agents);
    mirror.socket_dir = object.value("socket_dir", "");
    mirror.log = object.value("log", "");
    mirror.since = object.value("since", "");
  } catch (const json::exception&) {
    return mirror;  // Another version's format: use what could be read.
  }
  return mirror;
}

std::string text_of(const DetachedMirror& mirror) {
  const json object{{"agents", mirror.agents},
                    {"socket_dir", mirror.socket_dir},
                    {"log", mirror.log},
                    {"since", mirror.since}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string own_log_of(const std::string& file) {
  return file + ".log";
}

std::string agents_text(const FoundMirror& found) {
  std::string agents;
  for (const std::string& agent : found.mirror.agents) agents += (agents.empty() ? "" : ", ") + agent;
  return agents;
}

void remove_files(const FoundMirror& found) {
  ::unlink(found.file.c_str());
  if (found.mirror.log == own_log_of(found.file)) ::unlink(found.mirror.log.c_str());
}

}  // namespace

Result<std::vector<FoundMirror>> find_detached_mirrors() {
  ASSIGN_OR_RETURN(const auto directory, own_directory());
  std::vector<FoundMirror> all;
  for (const std::string& name : entries_of(directory)) {
    if (!name.starts_with(kMirrorPrefix) || name.ends_with(".log")) continue;
    const std::string path = directory + "/" + name;
    const UniqueFd fd = open_entry(path);
    if (fd) all.push_back({path, parse(fd.get()), holder_of(fd.get())});
  }
  std::sort(all.begin(), all.end(), [](const FoundMirror& a, const FoundMirror& b) {
    return std::tie(a.mirror.since, a.file) < std::tie(b.mirror.since, b.file);
  });
  return all;
}

Result<void> end_detached_mirror(const FoundMirror& found) {
  const UniqueFd fd = open_entry(found.file);
  if (!fd) return {};  // It has just ended.
  const pid_t pid = holder_of(fd.get());
  if (pid == 0) {
    remove_files(found);
    return {};
  }
  if (pid < 0) return fail("disconnect from", agents_text(found), "its mirror runs in another container");
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  // The same process still holds the lock, so the pid was not reused before the descriptor was opened.
  if (!process || holder_of(fd.get()) != pid) return {};
  if (::syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0) != 0) {
    return fail_errno("disconnect from", agents_text(found), errno);
  }
  pollfd ended{process.get(), POLLIN, 0};
  if (::poll(&ended, 1, kEndLimitMs) == 1) return {};
  return fail("disconnect from", agents_text(found), "its mirror did not stop in time",
              "see its log, " + found.mirror.log + "; it is process " + std::to_string(pid));
}

Result<std::unique_ptr<DetachedEntry>> DetachedEntry::make(DetachedMirror mirror) {
  ASSIGN_OR_RETURN(const auto directory, own_directory());
  std::string file = directory + "/" + std::string(kNewPrefix) + "XXXXXX";
  UniqueFd lock(::mkostemp(file.data(), O_CLOEXEC));
  if (!lock || !take_lock(lock.get())) return fail_errno("make a file in", directory, errno);
  const bool own_log = mirror.log.empty();
  if (own_log) mirror.log = own_log_of(directory + "/" + file.substr(file.rfind('/') + 2));
  UniqueFd log(::open(mirror.log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600));
  if (!log) {
    const int why = errno;
    ::unlink(file.c_str());
    return fail_errno("write the log to", mirror.log, why, "choose another place with --log-file");
  }
  return std::make_unique<DetachedEntry>(std::move(mirror), std::move(file), std::move(lock), std::move(log),
                                         own_log);
}

DetachedEntry::DetachedEntry(DetachedMirror mirror, std::string file, UniqueFd lock, UniqueFd log,
                             bool own_log)
    : mirror_(std::move(mirror)),
      file_(std::move(file)),
      lock_(std::move(lock)),
      log_(std::move(log)),
      own_log_(own_log) {}

DetachedEntry::~DetachedEntry() {
  ::unlink(file_.c_str());
  if (own_log_) ::unlink(mirror_.log.c_str());
}

Result<void> DetachedEntry::publish() {
  const std::string text = text_of(mirror_);
  if (::pwrite(lock_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return fail_errno("write", file_, errno);
  }
  std::string published = file_;
  published.erase(published.rfind('/') + 1, 1);  // The dot that hides it.
  if (::rename(file_.c_str(), published.c_str()) != 0) return fail_errno("write", published, errno);
  file_ = std::move(published);
  return {};
}

}  // namespace farport::cli
