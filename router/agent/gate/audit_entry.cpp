#include "router/agent/gate/audit_entry.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace farport::router {
namespace {

/// With what syslog puts before it these are 8 KiB at most.
constexpr std::size_t kMostLineBytes = 8000;
/// Of a text in a line; and of one in a line that is too long with that. There are ten, and a byte may take
/// six in JSON.
constexpr std::size_t kMostTextBytes = 4096;
constexpr std::size_t kMostShortTextBytes = 96;

/// Whether a character stands in JSON as it is.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (unsigned char c = ' '; c <= '~'; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return kPlain[static_cast<unsigned char>(c)]; });
}

/// Appends a number with at least so many digits.
void add_number(std::string& to, std::uint64_t value, std::size_t digits = 1) {
  const fmt::format_int text(value);
  if (text.size() < digits) to.append(digits - text.size(), '0');
  to.append(text.data(), text.size());
}

/// Appends a time in UTC with milliseconds, as RFC 3339 has it.
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
  /// `most`: of a text's bytes.
  JsonLine(std::string& to, std::size_t most) : to_(to), most_(most) {}
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;
  ~JsonLine() { to_ += "}\n"; }

  void text(std::string_view name, std::string_view value) {
    begin(name);
    if (value.size() <= most_ && is_plain(value)) {
      to_.append("\"").append(value).append("\"");
    } else {
      to_ += json_of(value.size() <= most_ ? std::string(value) : std::string(value.substr(0, most_)) + "…");
    }
  }
  /// Left out where it is empty.
  void text_if(std::string_view name, std::string_view value) {
    if (!value.empty()) text(name, value);
  }
  void number(std::string_view name, std::uint64_t value) {
    begin(name);
    add_number(to_, value);
  }
  /// An object of JSON; the beginning of one that is too long, in one of its own.
  void object(std::string_view name, std::string_view json) {
    begin(name);
    if (json.size() <= most_) {
      to_ += json;
    } else {
      to_.append("{\"cut\":").append(json_of(std::string(json.substr(0, most_)))).append("}");
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

std::string line_of(const AuditEntry& entry) {
  std::string line;
  add_line(line, entry, kMostTextBytes);
  if (line.size() <= kMostLineBytes) return line;
  line.clear();
  add_line(line, entry, kMostShortTextBytes);
  return line;
}

}  // namespace farport::router
