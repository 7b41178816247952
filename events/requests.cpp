#include "events/requests.hpp"

#include "base/text.hpp"

namespace farport::events {
namespace {

constexpr std::string_view kSourceEvent = "Event";  ///< Of DiagnosticSourceEventSource.
constexpr std::uint32_t kHostingBegan = 3;          ///< "RequestStart" of HostingEventSource.
constexpr std::string_view kBegin = "Microsoft.AspNetCore.Hosting.HttpRequestIn.Start";
constexpr std::string_view kEnd = "Microsoft.AspNetCore.Hosting.HttpRequestIn.Stop";
constexpr std::int64_t kTicksPerMicrosecond = 10;

void take(RequestEvent& request, const std::string& key, std::string value) {
  if (key == "Span") request.span = std::move(value);
  if (key == "Method") request.method = std::move(value);
  if (key == "Path") request.path = std::move(value);
  if (key == "Status") request.status = number_in<std::int64_t>(value).value_or(0);
  if (key == "Duration")
    request.took =
        std::chrono::microseconds(number_in<std::int64_t>(value).value_or(0) / kTicksPerMicrosecond);
}

}  // namespace

std::optional<RequestEvent> read_request(const nettrace::Event& event) {
  if (event.definition.provider != kRequestProvider || event.definition.name != kSourceEvent)
    return std::nullopt;
  // Runtimes describe the arguments, a list of pairs, in no way that all of them share.
  nettrace::Cursor in(event.payload, event.payload_offset);
  in.utf16();  // The source.
  const std::string name = in.utf16();
  if (name != kBegin && name != kEnd) return std::nullopt;
  RequestEvent request;
  request.ended = name == kEnd;
  for (unsigned left = in.u16(); left > 0 && !in.failed(); --left) {
    const std::string key = in.utf16();
    take(request, key, in.utf16());
  }
  if (in.failed()) return std::nullopt;
  return request;
}

bool says_request_began(const nettrace::Event& event) {
  return event.definition.provider == kHostingProvider && event.definition.event_id == kHostingBegan;
}

}  // namespace farport::events
