#include "router/audit.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <syslog.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace farport::router {
namespace {

using transport::UniqueFd;

constexpr std::string_view kStderr = "stderr";
constexpr std::string_view kSyslog = "syslog";
constexpr std::string_view kOff = "off";

/// UTC with milliseconds, RFC 3339.
std::string now_text() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[sizeof "2026-01-01T00:00:00"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", text, milliseconds);
}

/// Builds a JSON object field by field, which is cheaper than a tree of values for each command.
class JsonLine {
 public:
  void text(std::string_view name, std::string_view value) {
    begin(name);
    const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (std::all_of(value.begin(), value.end(), plain)) {
      line_.append("\"").append(value).append("\"");
    } else {
      line_ += nlohmann::json(value).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    }
  }
  /// Left out where it is empty.
  void text_if(std::string_view name, std::string_view value) {
    if (!value.empty()) text(name, value);
  }
  void number(std::string_view name, std::uint64_t value) { raw(name, std::to_string(value)); }
  void raw(std::string_view name, std::string_view json) {
    begin(name);
    line_ += json;
  }
  [[nodiscard]] std::string take() { return std::move(line_) + "}\n"; }

 private:
  void begin(std::string_view name) {
    line_ += line_.empty() ? "{\"" : ",\"";
    line_.append(name).append("\":");
  }
  std::string line_;
};

std::string line_of(const AuditEntry& entry) {
  JsonLine line;
  line.text("time", now_text());
  line.text("audit", entry.event);
  const Caller& caller = entry.caller;
  if (caller.identity) {
    line.text("identity", auth::describe(*caller.identity));
    line.text("serial", caller.identity->serial);
  }
  line.text("address", caller.address);
  if (entry.runtime != nullptr) {
    line.text("runtime", entry.runtime->name);
    line.number("pid", entry.runtime->pid);
    line.text("id", entry.runtime->id);
  }
  line.text_if("command", entry.command);
  if (!entry.arguments.empty()) line.raw("arguments", entry.arguments);
  line.text("decision", entry.allowed ? "allowed" : "refused");
  line.text_if("rule", entry.rule);
  line.text_if("role", entry.role);
  line.text("outcome", entry.outcome);
  if (entry.allowed) {
    line.number("to_runtime", entry.to_runtime);
    line.number("to_tool", entry.to_tool);
    line.raw("seconds", fmt::format("{:.3f}", entry.seconds));
  }
  return line.take();
}

Result<UniqueFd> open_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600));
  if (!file) return fail_errno("write the audit to", path, errno, "choose another place with --audit");
  return file;
}

}  // namespace

Audit::Audit(transport::Loop& loop, Log log, std::string to)
    : loop_(loop), log_(std::move(log)), to_(std::move(to)) {}

Audit::~Audit() {
  flush();
}

Result<std::unique_ptr<Audit>> Audit::open(transport::Loop& loop, Log log, std::string to) {
  auto audit = std::make_unique<Audit>(loop, std::move(log), std::move(to));
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
  last_written_ = '\n';
  return {};
}

void Audit::write(const AuditEntry& entry) {
  if (to_ == kOff) return;
  const std::string line = line_of(entry);
  if (to_ == kSyslog) {
    ::syslog(LOG_AUTHPRIV | (entry.allowed ? LOG_INFO : LOG_WARNING), "%.*s",
             static_cast<int>(line.size() - 1), line.c_str());
    return;
  }
  pending_ += line;
  loop_.at_turn_end(*this);
}

void Audit::turn_end() {
  flush();
}

void Audit::flush() {
  // Whoever reads line by line loses the one that was cut off, and not the next as well.
  if (last_written_ != '\n' && !pending_.empty()) pending_.insert(0, 1, '\n');
  std::string_view left = pending_;
  while (!left.empty()) {
    const ssize_t written = ::write(file_.get(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      if (!failing_)
        log_->error("the audit can't be written to {}: {}; lines are lost", to_, std::strerror(errno));
      failing_ = true;
      pending_.clear();
      return;
    }
    last_written_ = left[static_cast<std::size_t>(written) - 1];
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  if (failing_ && !pending_.empty()) log_->warn("the audit is written to {} again", to_);
  if (!pending_.empty()) failing_ = false;
  pending_.clear();
}

}  // namespace farport::router
