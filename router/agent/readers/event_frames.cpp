#include "router/agent/readers/event_frames.hpp"

#include "router/agent/readers/reader_frames.hpp"
#include "router/wire/json_members.hpp"

namespace farport::router {
namespace {

/// EventPipe's stacks have 100 frames at most.
constexpr std::size_t kMostStackFrames = 1000;
constexpr std::size_t kMostExceptionValues = kMostStackFrames + 16;
constexpr std::size_t kMostMethodValues = 8;
constexpr std::size_t kMostName = 4 * 1024;
/// Where each byte takes six in JSON.
constexpr std::size_t kLeastMessage = 4 * 1024;

json object_of(const events::ThrownException& thrown, std::size_t most_message) {
  const std::size_t frames = std::min(thrown.stack.size(), kMostStackFrames);
  return {{"time", thrown.time.time_since_epoch().count()},
          {"thread", thrown.thread},
          {"type", thrown.type.substr(0, kMostName)},
          {"message", thrown.message.substr(0, most_message)},
          {"hresult", thrown.hresult},
          {"rethrown", thrown.rethrown},
          {"nested", thrown.nested},
          {"stack",
           std::vector(thrown.stack.begin(), thrown.stack.begin() + static_cast<std::ptrdiff_t>(frames))}};
}

}  // namespace

std::string encode_exception(const events::ThrownException& thrown) {
  std::string whole = router::text_of(object_of(thrown, thrown.message.size()));
  return whole.size() <= kMostFrame ? whole : router::text_of(object_of(thrown, kLeastMessage));
}

std::optional<events::ThrownException> decode_exception(std::string_view text) {
  try {
    const json object = parse_bounded(text, kMostExceptionValues);
    events::ThrownException thrown;
    thrown.time = events::Time(events::Time::duration(object.at("time").get<events::Time::rep>()));
    thrown.thread = number_at<std::uint64_t>(object, "thread");
    thrown.type = object.at("type").get<std::string>();
    thrown.message = object.at("message").get<std::string>();
    thrown.hresult = number_at<std::uint32_t>(object, "hresult");
    thrown.rethrown = object.at("rethrown").get<bool>();
    thrown.nested = object.at("nested").get<bool>();
    thrown.stack = object.at("stack").get<std::vector<std::uint64_t>>();
    return thrown;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string encode_method(std::uint64_t address, const profile::Frame& method) {
  return router::text_of({{"address", address},
                          {"name", method.name.substr(0, kMostName)},
                          {"module", method.module.substr(0, kMostName)}});
}

std::optional<NamedAddresses::value_type> decode_method(std::string_view text) {
  try {
    const json object = parse_bounded(text, kMostMethodValues);
    profile::Frame method;
    method.kind = profile::FrameKind::managed;
    method.name = object.at("name").get<std::string>();
    method.module = object.at("module").get<std::string>();
    return NamedAddresses::value_type(number_at<std::uint64_t>(object, "address"), std::move(method));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace farport::router
