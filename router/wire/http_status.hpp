// Refusals: the statuses of the agent's API (RFC 9110 section 15), and what a tool is told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "ipc/message.hpp"
#include "transport/loop.hpp"

namespace farport::router::http_status {

inline constexpr int kOk = 200;
inline constexpr int kBadRequest = 400;
inline constexpr int kForbidden = 403;
inline constexpr int kNotFound = 404;
inline constexpr int kMethodNotAllowed = 405;
inline constexpr int kRequestTimeout = 408;
inline constexpr int kConflict = 409;
inline constexpr int kGone = 410;
inline constexpr int kContentTooLarge = 413;
inline constexpr int kTooManyRequests = 429;
inline constexpr int kHeadTooLarge = 431;  // RFC 6585 section 5.
inline constexpr int kNotImplemented = 501;
inline constexpr int kBadGateway = 502;
inline constexpr int kUnavailable = 503;
inline constexpr int kNoStorage = 507;  // RFC 4918 section 11.5.

/// The HRESULT of a failure for a tool: the runtime's own, or the one that stands for a status.
[[nodiscard]] constexpr std::uint32_t hresult_of(const Cause& cause) {
  if (cause.kind() == Cause::Kind::runtime) return cause.value();
  const int status = cause.kind() == Cause::Kind::http ? static_cast<int>(cause.value()) : 0;
  if (status == kForbidden) return ipc::hresult::kAccessDenied;
  if (status == kTooManyRequests || status == kUnavailable) return ipc::hresult::kBusy;
  return status == kNotImplemented ? ipc::hresult::kNotSupported : ipc::hresult::kFail;
}

}  // namespace farport::router::http_status

namespace farport::router {

/// Why something is refused, in the terms of a person, of HTTP and of a tool.
struct Refusal {
  int status = 0;             ///< Of the HTTP answer.
  std::uint32_t hresult = 0;  ///< Of the IPC error that the tool gets.
  std::string why;
  int retry_after{};  ///< In seconds; 0 if waiting does not help.
  /// The same in milliseconds, if time alone is needed. The request has then not been looked at.
  transport::Milliseconds retry_after_exactly{};
};

}  // namespace farport::router

namespace farport::router::pace_field {

// Header fields that say how often one identity may ask (docs/developers/wire.md, "Limits").

/// In the answer with the list of runtimes: how many requests per second one identity may make.
inline constexpr std::string_view kRate = "farport-requests-per-second";
/// With a 429 that passes by itself: when to ask again, in milliseconds. The request has not been looked at.
inline constexpr std::string_view kRetryAfterMs = "farport-retry-after-ms";

}  // namespace farport::router::pace_field

namespace farport::router::resumption_field {

// Header fields of requests that can be resumed (docs/developers/wire.md, "Resuming").

/// The token by which the next session asks for the answer. Each request that resumes it brings a new one.
inline constexpr std::string_view kToken = "farport-connection";
/// The instance of the agent that has the answer.
inline constexpr std::string_view kInstance = "farport-instance";
/// How many bytes of the answer's body have been received.
inline constexpr std::string_view kReceived = "farport-received";
/// The offset in the request's body at which the request goes on.
inline constexpr std::string_view kFrom = "farport-from";

}  // namespace farport::router::resumption_field
