// How both sides of a session tell that it is broken, what happens then, and how bytes are sent in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "transport/http2/session.hpp"
#include "transport/http2/stream.hpp"

namespace farport::router {

/// Whether what a runtime says is compressed on its way.
enum class Compression {
  automatic,  ///< While the network is the bottleneck, and it helps.
  always,
  never,
};

struct SessionOptions {
  transport::Milliseconds grace{30'000};  ///< How long diagnostic connections wait for the next session.
  transport::Milliseconds ping_interval{5'000};  ///< 0: no PINGs.
  transport::Milliseconds ping_timeout{5'000};   ///< Silence for this long after a PING: it is broken.
  Compression compression = Compression::automatic;

  [[nodiscard]] transport::Http2Limits limits() const {
    transport::Http2Limits limits;
    limits.ping_interval = ping_interval;
    limits.ping_timeout = ping_timeout;
    return limits;
  }
};

/// For the side that asks: what all copies share bounds what all agents may take together.
struct ClientOptions : SessionOptions {
  explicit ClientOptions(transport::Loop& loop, const SessionOptions& options = {})
      : SessionOptions(options), agents(std::make_shared<transport::Parties>(loop, kShare, kBytes)) {}

  std::shared_ptr<transport::Parties> agents;

 private:
  static constexpr std::chrono::milliseconds kShare{5};
  static constexpr std::uint64_t kBytes = std::uint64_t{512} << 20;
};

// How the two sides agree that a body is zstd (RFC 9110 sections 8.4 and 12.5.3, RFC 8878 section 7.2).

/// What a request says of the encodings that its answer may have.
[[nodiscard]] inline transport::HeaderFields accepted_encodings(const SessionOptions& options) {
  transport::HeaderFields fields;
  if (options.compression != Compression::never) fields.emplace_back("accept-encoding", "zstd");
  return fields;
}

/// Whether a list of encodings has zstd, and does not refuse it: "gzip, ZSTD;q=0.5", but not "zstd;q=0".
[[nodiscard]] bool accepts_zstd(std::string_view encodings);

/// Whether the answer to a request shall be zstd.
[[nodiscard]] inline bool wants_zstd(const transport::MessageHead& request, Compression mode) {
  return mode != Compression::never && accepts_zstd(request.field("accept-encoding"));
}

/// What such an answer says of itself.
inline void add_zstd(transport::HeaderFields& answer) {
  answer.emplace_back("content-encoding", "zstd");
}

/// Whether an answer is zstd.
[[nodiscard]] inline bool is_zstd(const transport::MessageHead& answer) {
  return answer.field("content-encoding") == "zstd";
}

// What an agent says first on a connection that it has dialled itself, inside TLS: which agent it is, so that
// a mirror goes on with what it has of it.

/// The line's beginning; the agent's instance follows. The number is that of this agreement, and not of
/// farport.
inline constexpr std::string_view kDialledGreeting = "farport-agent 1 ";
/// What the whole line may have, in bytes.
inline constexpr std::size_t kDialledGreetingSize = 128;

/// The line that an agent of this instance says.
[[nodiscard]] inline std::string dialled_greeting(const std::string& instance) {
  return std::string(kDialledGreeting).append(instance).append("\n");
}

/// The instance in such a line, without its end; nothing where it is something else.
[[nodiscard]] inline std::optional<std::string> instance_in_greeting(std::string_view line) {
  if (!line.starts_with(kDialledGreeting) || line.size() == kDialledGreeting.size()) return std::nullopt;
  return std::string(line.substr(kDialledGreeting.size()));
}

}  // namespace farport::router
