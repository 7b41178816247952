#include "config/limits.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <variant>

#include "config/values.hpp"

namespace farport::config {
namespace {

struct Count {
  std::uint64_t LimitSettings::*member;
  std::uint64_t most;
};
struct Bytes {
  std::uint64_t LimitSettings::*member;
  std::uint64_t least;
  std::uint64_t most;
};
struct Duration {
  Milliseconds LimitSettings::*member;
  bool may_be_off;
};
struct Limit {
  std::string_view name;
  std::variant<Count, Bytes, Duration> kind;
};

constexpr std::uint64_t kMany = 1'000'000;
constexpr std::uint64_t kKiB = 1024;
/// What an IPC message can have (its size field has 16 bits), and what its header has.
constexpr std::uint64_t kLargestMessage = 64 * kKiB;
constexpr std::uint64_t kMessageHeader = 20;
/// With less, an ordinary client would not get through.
constexpr std::uint64_t kLeastHead = kKiB;
constexpr std::uint64_t kMostHead = 1024 * kKiB;
/// One stream's window.
constexpr std::uint64_t kLeastBuffered = 1024 * kKiB;
constexpr std::uint64_t kMostBuffered = kKiB * kKiB * kKiB * kKiB;

constexpr Limit kLimits[] = {
    {"sessions", Count{&LimitSettings::sessions, kMany}},
    {"sessions_per_identity", Count{&LimitSettings::sessions_per_identity, kMany}},
    {"handshakes", Count{&LimitSettings::handshakes, kMany}},
    {"connections_per_session", Count{&LimitSettings::connections_per_session, kMany}},
    {"connections_per_identity", Count{&LimitSettings::connections_per_identity, kMany}},
    {"requests_per_second", Count{&LimitSettings::requests_per_second, kMany}},
    {"head_size", Bytes{&LimitSettings::head_size, kLeastHead, kMostHead}},
    {"message_size", Bytes{&LimitSettings::message_size, kMessageHeader, kLargestMessage}},
    {"buffered_bytes", Bytes{&LimitSettings::buffered_bytes, kLeastBuffered, kMostBuffered}},
    {"handshake_timeout", Duration{&LimitSettings::handshake_timeout, false}},
    {"first_message_timeout", Duration{&LimitSettings::first_message_timeout, false}},
    {"idle_timeout", Duration{&LimitSettings::idle_timeout, true}},
    {"session_lifetime", Duration{&LimitSettings::session_lifetime, true}},
};

/// Reads the value of one kind of limit into it.
struct Setter {
  LimitSettings& limits;
  std::string what;
  std::string_view value;

  Result<void> operator()(const Count& count) const {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number == 0 || number > count.most) {
      return fail("use", what, "it must be a whole number from 1 to " + std::to_string(count.most));
    }
    limits.*count.member = number;
    return {};
  }
  Result<void> operator()(const Bytes& bytes) const {
    const Result<std::uint64_t> size = parse_bytes(value);
    if (!size) return fail("use", what, size.error().message());
    if (*size < bytes.least || *size > bytes.most) {
      return fail(
          "use", what,
          "it must be from " + std::to_string(bytes.least) + " to " + std::to_string(bytes.most) + " bytes");
    }
    limits.*bytes.member = *size;
    return {};
  }
  Result<void> operator()(const Duration& duration) const {
    if (duration.may_be_off && value == "off") {
      limits.*duration.member = Milliseconds{0};
      return {};
    }
    const Result<Milliseconds> time = parse_duration(value);
    if (!time) return fail("use", what, time.error().message() + (duration.may_be_off ? ", or off" : ""));
    limits.*duration.member = *time;
    return {};
  }
};

}  // namespace

Result<void> set_limit(LimitSettings& limits, std::string_view name, std::string_view value) {
  const auto* const limit = std::find_if(std::begin(kLimits), std::end(kLimits),
                                         [&](const Limit& each) { return each.name == name; });
  if (limit != std::end(kLimits)) {
    return std::visit(Setter{limits, std::string(name) + " = " + std::string(value), value}, limit->kind);
  }
  const std::string meant = nearest(name, limit_names());
  return fail(
      "use the limit", name, "there is none of that name",
      meant.empty() ? "docs/configuration.md has them, under [limits]" : "did you mean \"" + meant + "\"?");
}

Result<void> set_limit(LimitSettings& limits, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return fail("use the limit", assignment, "it has no value", "write it as in: --limit sessions=100");
  }
  return set_limit(limits, assignment.substr(0, equals), assignment.substr(equals + 1));
}

std::vector<std::string> limit_names() {
  std::vector<std::string> names;
  for (const Limit& limit : kLimits) names.emplace_back(limit.name);
  return names;
}

}  // namespace farport::config
