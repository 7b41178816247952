// RequestEvent: what ASP.NET says of the requests that an application answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "nettrace/event.hpp"

namespace farport::events {

/// Begins and ends of requests, by the runtime's DiagnosticSource. A process has one argument of this
/// provider: whoever begins a session with another one silences all earlier ones.
inline constexpr const char* kRequestProvider = "Microsoft-Diagnostics-DiagnosticSource";
/// Messages, events, and none of its shortcuts (DiagnosticSourceEventSource).
inline constexpr std::uint64_t kRequestKeywords = 0x803;
/// Its argument. Without the first line, ends of requests never come.
inline constexpr const char* kRequestFilter =
    "FilterAndPayloadSpecs=\""
    "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn@Event:-\n"
    "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn.Start:"
    "-Method=Request.Method;Path=Request.Path.Value;Span=*Activity.SpanId\n"
    "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn.Stop:"
    "-Method=Request.Method;Path=Request.Path.Value;Status=Response.StatusCode;Span=*Activity.SpanId;"
    "Duration=*Activity.Duration.Ticks\"";
/// Tells of each request that it has begun, and needs no argument.
inline constexpr const char* kHostingProvider = "Microsoft.AspNetCore.Hosting";

struct RequestEvent {
  bool ended = false;       ///< Or begun.
  std::string span;         ///< The same for the begin and the end of one request.
  std::string method;       ///< "GET"
  std::string path;         ///< "/orders/7", without the query.
  std::int64_t status = 0;  ///< Of one that has ended.
  std::chrono::microseconds took{0};
};

/// The request in the event; empty if there is none.
[[nodiscard]] std::optional<RequestEvent> read_request(const nettrace::Event& event);

/// Whether the event says, by kHostingProvider, that a request has begun.
[[nodiscard]] bool says_request_began(const nettrace::Event& event);

}  // namespace farport::events
