// LimitSettings: the limits of an agent, declared once in kLimits for configuration, documents, API and
// metrics.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

#include "ipc/message.hpp"

namespace farport::auth {

/// What an agent lets its callers use. kLimits explains each member.
struct LimitSettings {
  std::uint64_t sessions = 1000;
  std::uint64_t sessions_per_identity = 250;
  std::uint64_t handshakes = 0;  ///< 0: derived from available memory.
  std::uint64_t connections_per_session = 1000;
  std::uint64_t connections_per_identity = 2000;
  std::uint64_t requests_per_second = 10'000;
  std::uint64_t head_size = 16ULL << 10;
  std::uint64_t message_size = 64ULL << 10;
  std::uint64_t buffered_bytes = 0;  ///< 0: derived from available memory.
  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds first_message_timeout{10'000};
  std::chrono::milliseconds idle_timeout{300'000};  ///< 0: off.
  std::chrono::milliseconds session_lifetime{0};    ///< 0: off.
};

/// A whole number from 1 to `most`.
struct LimitedCount {
  std::uint64_t LimitSettings::*member;
  std::uint64_t most = 1'000'000;
};
/// A size in bytes.
struct LimitedSize {
  std::uint64_t LimitSettings::*member;
  std::uint64_t least;
  std::uint64_t most;
};
/// A duration, or "off".
struct LimitedTime {
  std::chrono::milliseconds LimitSettings::*member;
  bool may_be_off = false;
};

struct Limit {
  std::string_view key;                ///< In the configuration, with its section: "limits.sessions".
  std::string_view help;               ///< What is limited: a sentence without its full stop.
  std::string_view details;            ///< What happens at the limit: Markdown, links from docs/.
  std::string_view default_text = {};  ///< If it is not the member's own value.
  bool in_metrics = false;  ///< Exported as a metric, so that an alert can warn before it is reached.
  std::variant<LimitedCount, LimitedSize, LimitedTime> range;

  /// The key without its section: "sessions".
  [[nodiscard]] constexpr std::string_view name() const { return key.substr(key.find('.') + 1); }
};

/// The smallest buffered_bytes: one stream's window.
inline constexpr std::uint64_t kMinBufferedBytes = 1ULL << 20;

/// In the order of the documentation.
inline constexpr Limit kLimits[] = {
    {.key = "limits.sessions",
     .help = "Established sessions and raw connections, of all identities",
     .details = "The new connection's first request gets 503, and the connection is closed.",
     .in_metrics = true,
     .range = LimitedCount{&LimitSettings::sessions}},
    {.key = "limits.sessions_per_identity",
     .help = "Established sessions and raw connections per identity",
     .details = "The new connection's first request gets 429, and the connection is closed.",
     .in_metrics = true,
     .range = LimitedCount{&LimitSettings::sessions_per_identity}},
    {.key = "limits.handshakes",
     .help = "TLS handshakes in progress",
     .details = "The oldest handshake of the IPv4 address, or IPv6 /64 network, with the most handshakes is "
                "closed. Genuine peers finish within moments.",
     .default_text = "256, or [less](#memory)",
     .in_metrics = true,
     .range = LimitedCount{&LimitSettings::handshakes}},
    {.key = "limits.connections_per_session",
     .help = "Concurrent diagnostic connections, dumps and profiles per session",
     .details = "The request gets 429.",
     .in_metrics = true,
     .range = LimitedCount{&LimitSettings::connections_per_session}},
    {.key = "limits.connections_per_identity",
     .help = "Concurrent diagnostic connections, dumps and profiles per identity, over all its sessions and "
             "raw connections",
     .details = "The request gets 429.",
     .in_metrics = true,
     .range = LimitedCount{&LimitSettings::connections_per_identity}},
    {.key = "limits.requests_per_second",
     .help = "Requests and raw connections per second and identity, with bursts of up to one second's worth",
     .details =
         "The request gets 429 with `retry-after: 1` and, in milliseconds, `farport-retry-after-ms`. "
         "A mirror waits and retries: its tools see only the delay. See [pace](developers/wire.md#pace).",
     .in_metrics = true,
     .range = LimitedCount{&LimitSettings::requests_per_second}},
    {.key = "limits.head_size",
     .help = "Total size of a request's header fields",
     .details = "The request gets 431; above 16 times the limit the session is closed.",
     // Ordinary clients need at least this much.
     .range = LimitedSize{&LimitSettings::head_size, 1ULL << 10, 1ULL << 20}},
    {.key = "limits.message_size",
     .help = "Size of a diagnostic connection's first message. The protocol's maximum is 64 KiB",
     .details = "The request gets 413.",
     .range = LimitedSize{&LimitSettings::message_size, ipc::kHeaderSize, ipc::kMaxMessageSize + 1}},
    {.key = "limits.buffered_bytes",
     .help = "Memory that the agent holds on behalf of all callers",
     .details = "Above half of it, the agent reads from runtimes only as fast as slow tools read. Above all "
                "of it, the largest stream or session of the identity that holds the most memory is closed.",
     .default_text = "256MiB, or [less](#memory)",
     .in_metrics = true,
     .range = LimitedSize{&LimitSettings::buffered_bytes, kMinBufferedBytes, 1ULL << 40}},
    {.key = "limits.handshake_timeout",
     .help = "Maximum duration of a TLS handshake",
     .details = "The connection is closed.",
     .range = LimitedTime{&LimitSettings::handshake_timeout}},
    {.key = "limits.first_message_timeout",
     .help = "How long to wait for the first message of a diagnostic connection",
     .details = "The request gets 408.",
     .range = LimitedTime{&LimitSettings::first_message_timeout}},
    {.key = "limits.idle_timeout",
     .help = "How long a session may have no open request",
     .details = "The session is closed. A mirror always has an open watch, so it is never idle; nor is a "
                "trace without events, or a raw connection.",
     .range = LimitedTime{&LimitSettings::idle_timeout, true}},
    {.key = "limits.session_lifetime",
     .help = "Maximum age of a session or a raw connection",
     .details = "It is closed. A mirror dials again, with a new handshake.",
     .range = LimitedTime{&LimitSettings::session_lifetime, true}},
};

/// The Limit for a member of LimitSettings. Does not compile if kLimits lacks it.
template <typename Value>
consteval const Limit& limit_of(Value LimitSettings::*member) {
  for (const Limit& limit : kLimits) {
    const bool found = std::visit(
        [member](const auto& range) {
          if constexpr (std::is_same_v<std::decay_t<decltype(range.member)>, Value LimitSettings::*>)
            return range.member == member;
          return false;
        },
        limit.range);
    if (found) return limit;
  }
  throw "kLimits lacks this member";
}

}  // namespace farport::auth
