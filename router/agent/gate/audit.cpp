#include "router/agent/gate/audit.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <syslog.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "router/agent/gate/limits.hpp"

namespace farport::router {
namespace {

/// Together with what syslog puts in front, a line has 8 KiB at most.
constexpr std::size_t kMaxLineBytes = 8000;
/// The most bytes of one text in a line, and of one in a line that would be too long with those. A line has
/// ten texts, and JSON may take six bytes for one.
constexpr std::size_t kMaxTextBytes = 4096;
constexpr std::size_t kMaxShortTextBytes = 96;

/// Whether a character needs no escape in JSON.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (unsigned char c = ' '; c <= '~'; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return kPlain[static_cast<unsigned char>(c)]; });
}

/// Appends a number, padded with zeros to at least `digits` digits.
void add_number(std::string& to, std::uint64_t value, std::size_t digits = 1) {
  const fmt::format_int text(value);
  if (text.size() < digits) to.append(digits - text.size(), '0');
  to.append(text.data(), text.size());
}

/// Appends a time in UTC with milliseconds, in the format of RFC 3339.
void add_time(std::string& to, std::chrono::system_clock::time_point when) {
  using namespace std::chrono;
  const auto now = floor<milliseconds>(when);
  const auto midnight = floor<days>(now);
  const year_month_day date(midnight);
  const hh_mm_ss time(now - midnight);
  const auto add = [&](auto value, std::size_t digits, char behind) {
    add_number(to, static_cast<std::uint64_t>(value), digits);
    to += behind;
  };
  add(int{date.year()}, 4, '-');
  add(unsigned{date.month()}, 2, '-');
  add(unsigned{date.day()}, 2, 'T');
  add(time.hours().count(), 2, ':');
  add(time.minutes().count(), 2, ':');
  add(time.seconds().count(), 2, '.');
  add(time.subseconds().count(), 3, 'Z');
}

/// Appends a JSON object field by field, which is cheaper than a tree of values for each command.
class JsonLine {
 public:
  /// `most`: the most bytes of one text.
  JsonLine(std::string& to, std::size_t most) : to_(to), most_(most) {}
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;
  ~JsonLine() { to_ += "}\n"; }

  void text(std::string_view name, std::string_view value) {
    begin(name);
    if (value.size() <= most_ && is_plain(value)) {
      to_.append("\"").append(value).append("\"");
    } else {
      to_ += json_of(value.size() <= most_ ? std::string(value) : std::string(shortened(value, most_)) + "…");
    }
  }
  /// Leaves the field out if `value` is empty.
  void text_if(std::string_view name, std::string_view value) {
    if (!value.empty()) text(name, value);
  }
  void number(std::string_view name, std::uint64_t value) {
    begin(name);
    add_number(to_, value);
  }
  /// Adds a JSON object. One that is too long becomes {"cut": …} with its beginning as a string.
  void object(std::string_view name, std::string_view text) {
    begin(name);
    if (text.size() <= most_) {
      to_ += text;
    } else {
      to_.append("{\"cut\":").append(json_of(std::string(shortened(text, most_)))).append("}");
    }
  }
  void now(std::string_view name) {
    begin(name);
    to_ += '"';
    add_time(to_, std::chrono::system_clock::now());
    to_ += '"';
  }
  void seconds(std::string_view name, std::chrono::milliseconds value) {
    const auto count = static_cast<std::uint64_t>(value.count());
    number(name, count / 1000);
    to_ += '.';
    add_number(to_, count % 1000, 3);
  }

 private:
  void begin(std::string_view name) {
    to_.append(first_ ? "{\"" : ",\"").append(name).append("\":");
    first_ = false;
  }

  static std::string json_of(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  }

  std::string& to_;
  std::size_t most_;
  bool first_ = true;
};

void add_line(std::string& to, const AuditEntry& entry, std::size_t most) {
  JsonLine line(to, most);
  line.now("time");
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
  if (!entry.arguments.empty()) line.object("arguments", entry.arguments);
  line.text("decision", entry.allowed ? "allowed" : "refused");
  line.text_if("rule", entry.rule);
  line.text_if("role", entry.role);
  line.text("outcome", to_string(entry.outcome));
  if (entry.allowed) {
    line.number("to_runtime", entry.to_runtime);
    line.number("to_tool", entry.to_tool);
    line.seconds("seconds", entry.took);
  }
}

}  // namespace

std::string to_string(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::completed:
      return "completed";
    case Outcome::Kind::broken_off:
      return "broken off: " + outcome.why;
    case Outcome::Kind::stopped:
      return "the agent was stopped";
    case Outcome::Kind::refused:
    case Outcome::Kind::failed:
      break;
  }
  return outcome.why;
}

std::optional<Refusal> note_decision(AuditEntry& entry, Decision decision) {
  entry.allowed = decision.allowed;
  entry.rule = std::move(decision.rule);
  entry.role = std::move(decision.role);
  return decision.allowed ? std::nullopt : std::optional(std::move(decision.refusal));
}

std::optional<Refusal> decide(AuditEntry& entry, const tl::expected<RuntimePtr, Refusal>& runtime,
                              Decision (*authorize)(const Caller&, const Runtime&)) {
  if (!runtime) return runtime.error();
  entry.runtime = *runtime;
  return note_decision(entry, authorize(entry.caller, **runtime));
}

std::string line_of(const AuditEntry& entry) {
  std::string line;
  add_line(line, entry, kMaxTextBytes);
  if (line.size() <= kMaxLineBytes) return line;
  line.clear();
  add_line(line, entry, kMaxShortTextBytes);
  return line;
}

namespace {

constexpr std::string_view kStderr = "stderr";
constexpr std::string_view kSyslog = "syslog";
constexpr std::string_view kOff = "off";

constexpr transport::Milliseconds kMinute{60'000};
/// Lines a minute for what is refused to one identity, and for what it reads: as many as there may be
/// artifacts, which a follower gets one after the other.
constexpr std::size_t kRefusedAMinute = 100;
constexpr std::size_t kReadsAMinute = 1000;
/// How many identities have counts of their own. All others share one of each kind.
constexpr std::size_t kMaxFrequent = 256;

/// Whether it only reads what is kept, which takes nothing of an application.
bool is_read(const AuditEntry& entry) {
  return entry.allowed && (entry.event == "recent" || (entry.event == "artifact" && entry.command == "get"));
}

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
  RETURN_IF_ERROR(audit->reopen());
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
  ASSIGN_OR_RETURN(auto file, open_file(to_));
  flush();
  file_ = std::move(file);
  writer_.start_over();
  return {};
}

void Audit::write(const AuditEntry& entry) {
  if (to_ == kOff) return;
  if (within_rate(entry)) put(entry);
}

bool Audit::within_rate(const AuditEntry& entry) {
  const bool reads = is_read(entry);
  if (entry.allowed && !reads) return true;
  if (frequent_.empty()) minute_.emplace(loop_, kMinute, [this] { end_minute(); });
  const std::string kind(1, reads ? 'r' : '-');
  std::string key = kind + identity_key(entry.caller);
  if (frequent_.size() >= kMaxFrequent && !frequent_.contains(key)) key = kind;
  Frequent& frequent = frequent_[key];
  frequent.is_read = reads;
  if (frequent.lines < (reads ? kReadsAMinute : kRefusedAMinute)) {
    ++frequent.lines;
    return true;
  }
  ++frequent.left_out;
  frequent.last.address = entry.caller.address;
  frequent.last.identity = entry.caller.identity;
  return false;
}

void Audit::end_minute() {
  for (const auto& [key, frequent] : std::exchange(frequent_, {})) {
    if (frequent.left_out == 0) continue;
    const bool several = key.size() == 1;
    AuditEntry entry{frequent.is_read ? "reads" : "refusals", frequent.last};
    entry.allowed = frequent.is_read;
    entry.outcome = {
        Outcome::Kind::refused,
        fmt::format("{} more were {} {}within a minute, and have no lines of their own", frequent.left_out,
                    frequent.is_read ? "read" : "refused", several ? "for several callers " : "")};
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
                error == 0 || error == EAGAIN ? "its reader is too slow" : std::strerror(error));
  }
  if (failing_ && !fails) log_->warn("the audit is written to {} again", to_);
  failing_ = fails;
}

}  // namespace farport::router
