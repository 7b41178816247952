// The options of a session: how a break is noticed, what happens then, and whether bytes are compressed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "transport/http2/session.hpp"
#include "transport/http2/stream.hpp"

namespace farport::router {

/// When to compress what a runtime sends.
enum class Compression {
  automatic,  ///< While the network is the bottleneck, and compression helps.
  always,
  never,
};

/// What can be configured of a session.
struct SessionOptions {
  transport::Milliseconds grace{30'000};  ///< How long diagnostic connections outlive a broken session.
  transport::Milliseconds ping_interval{5'000};  ///< 0 turns PINGs off.
  transport::Milliseconds ping_timeout{5'000};   ///< Without an answer to a PING, the session is broken.
  Compression compression = Compression::automatic;

  [[nodiscard]] transport::Http2Limits limits() const {
    transport::Http2Limits limits;
    limits.ping_interval = ping_interval;
    limits.ping_timeout = ping_timeout;
    return limits;
  }
};

/// The options of the side that asks. Copies share one budget, which bounds all agents together.
struct ClientOptions : SessionOptions {
  explicit ClientOptions(transport::Loop& loop, const SessionOptions& options = {})
      : SessionOptions(options), agents(std::make_shared<transport::Parties>(loop, kShare, kBytes)) {}

  std::shared_ptr<transport::Parties> agents;

 private:
  static constexpr std::chrono::milliseconds kShare{2};
  static constexpr std::uint64_t kBytes = std::uint64_t{512} << 20;
};

/// The header fields with which a request says that its answer may be zstd (RFC 9110 sections 8.4 and 12.5.3,
/// RFC 8878 section 7.2).
[[nodiscard]] inline transport::HeaderFields accepted_encodings(const SessionOptions& options) {
  transport::HeaderFields fields;
  if (options.compression != Compression::never) fields.emplace_back("accept-encoding", "zstd");
  return fields;
}

/// Whether a list of encodings contains zstd and does not refuse it: "gzip, ZSTD;q=0.5", but not "zstd;q=0".
[[nodiscard]] bool accepts_zstd(std::string_view encodings);

/// Whether to answer a request with zstd.
[[nodiscard]] inline bool wants_zstd(const transport::MessageHead& request, Compression mode) {
  return mode != Compression::never && accepts_zstd(request.field("accept-encoding"));
}

/// Adds the header field that says that the answer is zstd.
inline void add_zstd(transport::HeaderFields& answer) {
  answer.emplace_back("content-encoding", "zstd");
}

/// Whether an answer is zstd.
[[nodiscard]] inline bool is_zstd(const transport::MessageHead& answer) {
  return answer.field("content-encoding") == "zstd";
}

/// The beginning of the line that an agent sends first, inside TLS, on a connection that it has dialled. Its
/// instance follows, so that a mirror can resume what it has of that agent. The number is the version of this
/// line.
inline constexpr std::string_view kDialledGreeting = "farport-agent 1 ";
/// The longest such line, in bytes.
inline constexpr std::size_t kDialledGreetingSize = 128;

/// The line of the agent with this instance.
[[nodiscard]] inline std::string dialled_greeting(const std::string& instance) {
  return std::string(kDialledGreeting).append(instance).append("\n");
}

/// The instance in such a line, which has no newline here. Nothing if it is another line.
[[nodiscard]] inline std::optional<std::string> instance_in_greeting(std::string_view line) {
  if (!line.starts_with(kDialledGreeting) || line.size() == kDialledGreeting.size()) return std::nullopt;
  return std::string(line.substr(kDialledGreeting.size()));
}

}  // namespace farport::router
