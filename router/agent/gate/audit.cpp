#include "router/agent/gate/audit.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <syslog.h>
#include <unistd.h>

#include "router/agent/gate/limits.hpp"

namespace farport::router {
namespace {

constexpr std::string_view kStderr = "stderr";
constexpr std::string_view kSyslog = "syslog";
constexpr std::string_view kOff = "off";

constexpr transport::Milliseconds kMinute{60'000};
/// Of one identity.
constexpr std::size_t kRefusedAMinute = 100;
/// How many identities are counted apart. All beyond that share one count.
constexpr std::size_t kMostRefused = 256;

Result<UniqueFd> open_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600));
  if (!file) return fail_errno("write the audit to", path, errno, "choose another place with --audit");
  return file;
}

}  // namespace

Audit::Audit(transport::Loop& loop, Log log, std::string to, UnblockedWriter::When full)
    : loop_(loop), log_(std::move(log)), to_(std::move(to)), writer_(full) {}

Audit::~Audit() {
  end_minute();
  flush();
}

Result<std::unique_ptr<Audit>> Audit::open(transport::Loop& loop, Log log, std::string to,
                                           UnblockedWriter::When full) {
  auto audit = std::make_unique<Audit>(loop, std::move(log), std::move(to), full);
  const Result<void> opened = audit->reopen();
  if (!opened) return tl::unexpected(opened.error());
  return audit;
}

Result<void> Audit::reopen() {
  if (to_ == kOff || to_ == kSyslog) return {};
  if (to_ == kStderr) {
    if (file_) return {};
    file_ = UniqueFd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!file_) return fail_errno("write the audit to", to_, errno);
    return {};
  }
  auto file = open_file(to_);
  if (!file) return tl::unexpected(file.error());
  flush();
  file_ = std::move(*file);
  writer_.start_over();
  return {};
}

void Audit::write(const AuditEntry& entry) {
  if (to_ == kOff) return;
  if (entry.allowed || has_line(entry.caller)) put(entry);
}

bool Audit::has_line(const Caller& caller) {
  if (refused_.empty()) minute_.emplace(loop_, kMinute, [this] { end_minute(); });
  std::string key = identity_key(caller);
  if (refused_.size() >= kMostRefused && !refused_.contains(key)) key.clear();
  Refused& refused = refused_[key];
  if (refused.lines < kRefusedAMinute) {
    ++refused.lines;
    return true;
  }
  ++refused.left_out;
  refused.last.address = caller.address;
  refused.last.identity = caller.identity;
  return false;
}

void Audit::end_minute() {
  for (const auto& [key, refused] : std::exchange(refused_, {})) {
    if (refused.left_out == 0) continue;
    AuditEntry entry{"refusals", refused.last};
    entry.outcome = {Outcome::Kind::refused,
                     fmt::format("{} more were refused within a minute{}, and have no lines of their own",
                                 refused.left_out, key.empty() ? ", to several callers" : "")};
    put(entry);
  }
}

void Audit::put(const AuditEntry& entry) {
  std::string line = line_of(entry);
  if (to_ == kSyslog) {
    line.pop_back();
    const int error = syslog_.write(LOG_AUTHPRIV | (entry.allowed ? LOG_INFO : LOG_WARNING), line);
    return note(error != 0, error);
  }
  pending_ += line;
  loop_.defer(*this);
}

void Audit::end_of_tick() {
  flush();
}

void Audit::flush() {
  if (pending_.empty()) return;
  const std::uint64_t lost = writer_.lost();
  const int error = writer_.write(file_.get(), pending_);
  pending_.clear();
  note(writer_.lost() > lost, error);
}

void Audit::note(bool fails, int error) {
  if (fails && !failing_) {
    log_->error("the audit can't be written to {}: {}; lines are lost", to_,
                error == 0 || error == EAGAIN ? "nothing reads it" : std::strerror(error));
  }
  if (failing_ && !fails) log_->warn("the audit is written to {} again", to_);
  failing_ = fails;
}

}  // namespace farport::router
