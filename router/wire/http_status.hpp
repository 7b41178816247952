// The statuses of the agent's API (RFC 9110 section 15), and what a tool is told for them.
#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "ipc/error.hpp"

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
