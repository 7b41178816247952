// The statuses of the agent's API (RFC 9110 section 15), and what a tool is told for them.
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

/// The HRESULT that stands for a failure in the answer to a tool: a runtime's own, or the one for a status.
[[nodiscard]] constexpr std::uint32_t hresult_of(const Cause& cause) {
  if (cause.kind() == Cause::Kind::runtime) return cause.value();
  const int status = cause.kind() == Cause::Kind::http ? static_cast<int>(cause.value()) : 0;
  if (status == kForbidden) return ipc::hresult::kAccessDenied;
  if (status == kTooManyRequests || status == kUnavailable) return ipc::hresult::kBusy;
  return status == kNotImplemented ? ipc::hresult::kNotSupported : ipc::hresult::kFail;
}

}  // namespace farport::router::http_status

namespace farport::router {

/// What a caller is told that is refused.
/// Why something was refused, for a person, for HTTP and for a tool.
struct Refusal {
  int status = 0;             ///< Of HTTP.
  std::uint32_t hresult = 0;  ///< Of the IPC error that a tool gets.
  std::string why;
  int retry_after{};  ///< In seconds; 0: there is nothing to wait for.
  /// The same to the millisecond, where nothing but time must pass; nothing was done then.
  transport::Milliseconds retry_after_exactly{};
};

}  // namespace farport::router

namespace farport::router::pace_field {

// The header fields by which an agent tells how often one identity may ask (docs/wire.md, "Limits").

/// Beside the list of runtimes: requests of one identity in a second.
inline constexpr std::string_view kRate = "farport-requests-per-second";
/// Beside a 429 that passes by itself: when to ask again, in milliseconds. The request was not looked at.
inline constexpr std::string_view kRetryAfterMs = "farport-retry-after-ms";

}  // namespace farport::router::pace_field

namespace farport::router::resumption_field {

// The header fields of requests that can be resumed (docs/wire.md, "Resuming").

/// By which the next session asks for it: in the first request, and a new one in each that resumes it.
inline constexpr std::string_view kToken = "farport-connection";
/// Of the agent that had it.
inline constexpr std::string_view kInstance = "farport-instance";
/// How many bytes of the answer's body have been received.
inline constexpr std::string_view kReceived = "farport-received";
/// The place in the request's body at which it goes on.
inline constexpr std::string_view kFrom = "farport-from";

}  // namespace farport::router::resumption_field
