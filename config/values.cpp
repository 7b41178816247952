#include "config/values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/reach_scheme.hpp"
#include "base/text.hpp"

namespace farport::config {
namespace {

constexpr std::size_t kLargestTypo = 2;  // In edits.

/// Levenshtein distance, row by row.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail("use the address", text, why, "write HOST:PORT, or [ADDRESS]:PORT for IPv6");
  };
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    std::string_view rest = text.substr(scheme + 3);
    rest = rest.substr(0, rest.find('/'));
    return fail("use the address", text, "it is a URL",
                "write HOST:PORT alone" + (rest.empty() ? std::string() : ": " + std::string(rest)));
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad("the port is missing");
  std::string_view host = text.substr(0, colon);
  const auto port = number_in<std::uint16_t>(text.substr(colon + 1));
  if (!port) return bad("the port must be a number from 0 to 65535");
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad("an IPv6 address needs brackets");
  }
  if (host.empty()) {
    return fail(
        "use the address", text, "the host is missing",
        "write a host before the colon; an agent listens on all addresses with 0.0.0.0:PORT and [::]:PORT");
  }
  if (host.find_first_of("/ ,@[]") != std::string_view::npos) return bad("that is no host name or address");
  return Address{std::string(host), *port};
}

std::string to_string(const Address& address) {
  return authority(address.host, address.port);
}

Target split_target(const std::string& text) {
  // A URL is no target; keep it whole for the error message.
  if (!is_reach(text) && text.find("://") != std::string::npos) return {text, {}};
  const std::string_view separator = is_reach(text) ? "//" : "/";
  const std::size_t from = is_reach(text) ? text.find("://") + 3 : 0;
  const std::size_t end = text.find(separator, from);
  if (end == std::string::npos) return {text, {}};
  return {text.substr(0, end), text.substr(end + separator.size())};
}

Result<Address> parse_admin_address(std::string_view text) {
  const std::string_view port = text.substr(text.starts_with(':') ? 1 : 0);
  if (port.find(':') != std::string_view::npos) return parse_address(text);
  return parse_address("127.0.0.1:" + std::string(port));
}

Result<Milliseconds> parse_duration(std::string_view text) {
  constexpr std::int64_t kLongest = 1000LL * 3600 * 24 * 365;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::int64_t factor = unit == "ms"  ? 1
                              : unit == "s" ? 1000
                              : unit == "m" ? 60'000
                              : unit == "h" ? 3'600'000
                                            : 0;
  if (error != std::errc() || factor == 0 || number <= 0 || number > kLongest / factor) {
    return fail("use the duration", text, "it must be a whole number with a unit",
                "write for example 500ms, 5s, 2m or 1h");
  }
  return Milliseconds(number * factor);
}

Result<Milliseconds> parse_time_span(std::string_view text) {
  // As in other tools, a bare number means seconds.
  if (all_digits(text)) return parse_duration(std::string(text) + "s");
  if (text.find(':') == std::string_view::npos) return parse_duration(text);
  const auto wrong = [&] {
    return fail("use the duration", text, "it is no duration",
                "write for example 30s, or 00:00:30 for hours, minutes and seconds");
  };
  // The value in seconds of each place, and its limit.
  constexpr std::array<std::int64_t, 4> kSeconds{86'400, 3'600, 60, 1};
  constexpr std::array<std::int64_t, 4> kMax{10'000, 24, 60, 60};
  const auto colons = static_cast<std::size_t>(std::count(text.begin(), text.end(), ':'));
  if (colons < 2 || colons > 3) return wrong();
  std::string_view rest = text;
  std::int64_t seconds = 0;
  for (std::size_t place = 3 - colons; place < kSeconds.size(); ++place) {
    const auto number = number_in<std::int64_t>(take_until(rest, ':'));
    if (!number || *number < 0 || *number >= kMax[place]) return wrong();
    seconds += *number * kSeconds[place];
  }
  if (seconds == 0) return wrong();
  return Milliseconds(seconds * 1000);
}

std::string to_string(Milliseconds duration) {
  const std::int64_t count = duration.count();
  if (count % 3'600'000 == 0) return fmt::format("{}h", count / 3'600'000);
  if (count % 60'000 == 0) return fmt::format("{}m", count / 60'000);
  if (count % 1000 == 0) return fmt::format("{}s", count / 1000);
  return fmt::format("{}ms", count);
}

Result<std::string> parse_path(std::string_view text) {
  if (text.empty()) return fail("use", "the path", "it is empty");
  std::error_code error;
  return std::filesystem::absolute(text, error).lexically_normal().string();
}

Result<NamedPath> parse_named_socket(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return fail("use", text, "a name and a path are needed", "write NAME=PATH");
  }
  ASSIGN_OR_RETURN(auto path, parse_path(text.substr(equals + 1)));
  return NamedPath{std::string(text.substr(0, equals)), std::move(path)};
}

Result<NamedPath> parse_tool_socket(std::string_view text) {
  if (text.find('=') != std::string_view::npos) return parse_named_socket(text);
  if (text.empty()) return fail("use", "a tool's socket", "its path is empty", "write PATH, or NAME=PATH");
  std::error_code error;
  return NamedPath{{}, std::filesystem::absolute(std::string(text), error).lexically_normal().string()};
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const int shift = unit.empty() ? 0 : unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : -1;
  if (error != std::errc() || shift < 0 || number == 0 || number > (1ULL << 62) >> shift) {
    return fail("use the size", text, "it must be a whole number, with a unit or of bytes",
                "write for example 500MiB or 64GiB");
  }
  return number << shift;
}

std::string bytes_to_string(std::uint64_t bytes) {
  for (const auto& [shift, unit] : {std::pair{30, "GiB"}, std::pair{20, "MiB"}, std::pair{10, "KiB"}}) {
    if (bytes % (1ULL << shift) == 0) return fmt::format("{}{}", bytes >> shift, unit);
  }
  return std::to_string(bytes);
}

WithRole split_role(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) return {std::string(text), {}};
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

bool is_reach(std::string_view text) {
  return !reach_scheme(text).empty();
}

auth::Grant short_grant(GrantKind kind, const std::string& text) {
  const WithRole split = split_role(text);
  auth::Grant grant;
  grant.role = split.role;
  const auto is = [&](const char* flag, std::vector<std::string>& names) {
    grant.text = flag + ("=" + text);
    names.push_back(split.value);
  };
  switch (kind) {
    case GrantKind::cn:
      is("allow-cn", grant.identity.cn);
      break;
    case GrantKind::dns:
      is("allow-dns", grant.identity.dns);
      break;
    case GrantKind::uri:
      is("allow-uri", grant.identity.uri);
      break;
    case GrantKind::ip:
      is("allow-ip", grant.identity.ip);
      break;
    case GrantKind::local:
      is("allow-local", grant.identity.local);
      break;
  }
  return grant;
}

auth::Grant allow_all(const std::string& role) {
  auth::Grant grant;
  grant.text = role.empty() ? "allow-all" : "allow-all=" + role;
  grant.identity.all = true;
  grant.role = role;
  return grant;
}

Result<std::string> parse_audit(std::string_view text) {
  if (text == "stderr" || text == "syslog" || text == "off") return std::string(text);
  if (text.find('/') == std::string_view::npos) {
    return fail("use the audit", text, "it is not stderr, syslog or off, nor a path with a slash in it",
                "write for example /var/log/farport/audit.jsonl");
  }
  std::error_code error;
  return std::filesystem::absolute(std::string(text), error).lexically_normal().string();
}

Result<std::string> parse_choice(const Choice& choice, std::string_view text) {
  const std::vector<std::string>& words = choice.words;
  if (std::find(words.begin(), words.end(), text) != words.end()) return std::string(text);
  return fail(choice.what, text, "there is no such value",
              fmt::format("write {} or {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back()));
}

std::string nearest(std::string_view wrong, const std::vector<std::string>& words) {
  const auto best = std::min_element(words.begin(), words.end(), [&](const auto& a, const auto& b) {
    return distance(wrong, a) < distance(wrong, b);
  });
  // In a short word two edits can make any other word.
  const auto letters =
      static_cast<std::size_t>(std::count_if(wrong.begin(), wrong.end(), is_letter_or_digit));
  const std::size_t most = std::clamp<std::size_t>(letters / 3, 1, kLargestTypo);
  return best != words.end() && distance(wrong, *best) <= most ? *best : std::string();
}

Result<void> check_word(const std::string& what, const std::string& word,
                        std::span<const std::string_view> known) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return {};
  const std::string meant = nearest(word, {known.begin(), known.end()});
  return fail("use", what, "there is no \"" + word + "\"",
              meant.empty() ? fmt::format("there are {}", fmt::join(known, ", "))
                            : "did you mean \"" + meant + "\"?");
}

bool is_simple_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; });
}

Result<void> check_command(const std::string& what, const std::vector<std::string>& command,
                           std::span<const std::string_view> variables) {
  if (command.size() == 1 && command.front().find(' ') != std::string::npos)
    return fail("use", what, "no shell takes it apart", "write a list: [\"rclone\", \"rcat\", …]");
  if (command.front().empty() || command.front().find('{') != std::string::npos)
    return fail("use", what, "it does not begin with a program");
  for (const std::string& argument : command) {
    for (std::size_t at = argument.find('{'); at != std::string::npos; at = argument.find('{', at + 1)) {
      const std::size_t end = argument.find('}', at);
      if (end == std::string::npos) break;
      RETURN_IF_ERROR(check_word(what, argument.substr(at + 1, end - at - 1), variables));
    }
  }
  return {};
}

Result<void> check_store(const EgressSettings& store) {
  if (!is_simple_name(store.name))
    return fail("use the store", store.name, "it has no name of letters, digits, \"-\" and \"_\"",
                "write name = \"bucket\"");
  if (store.run.command.empty()) return fail("use the store", store.name, "it has no command");
  RETURN_IF_ERROR(
      check_command("the command of the store " + store.name, store.run.command, kStoreVariables));
  if (!store.check.empty()) {
    RETURN_IF_ERROR(check_command("the check of the store " + store.name, store.check, kStoreVariables));
  }
  for (const std::string& kind : store.kinds) {
    RETURN_IF_ERROR(check_word("the kinds of the store " + store.name, kind, kArtifactKinds));
  }
  const bool gets_dumps = store.kinds.empty() || std::ranges::find(store.kinds, "dump") != store.kinds.end();
  if (store.stream && !gets_dumps)
    return fail("use the store", store.name, "stream is for dumps, which are not among its kinds");
  return {};
}

Result<CounterName> parse_counter(std::string_view text) {
  const std::size_t bracket = text.find('[');
  const bool is_one = bracket != std::string_view::npos && bracket > 0 && text.ends_with(']') &&
                      text.size() > bracket + 2 &&
                      text.substr(bracket + 1).find_first_of("[,;") == std::string_view::npos;
  if (!is_one)
    return fail("use the counter", text, "it is not one instrument",
                "write the meter and the instrument: System.Runtime[dotnet.gc.pause.time]");
  // That it is an EventSource and not a meter is for the session.
  constexpr std::string_view kEventCounters = "EventCounters\\";
  const std::size_t begin = text.starts_with(kEventCounters) ? kEventCounters.size() : 0;
  return CounterName{std::string(text.substr(begin, bracket - begin)),
                     std::string(text.substr(bracket + 1, text.size() - bracket - 2)), begin > 0};
}

std::string temporary_directory() {
  const char* directory = std::getenv("TMPDIR");
  if (directory == nullptr || *directory == '\0') return "/tmp";
  std::string text = directory;
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

}  // namespace farport::config
