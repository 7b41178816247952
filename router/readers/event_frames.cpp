#include "router/readers/event_frames.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "router/readers/reader_frames.hpp"
#include "router/wire/json_members.hpp"

namespace farport::router {
namespace {

/// EventPipe's stacks have 100 frames at most.
constexpr std::size_t kMostStackFrames = 1000;
constexpr std::size_t kMostExceptionValues = kMostStackFrames + 16;
constexpr std::size_t kMostMethodValues = 8;
constexpr std::size_t kMostName = 4 * 1024;
constexpr std::size_t kMostType = 1024;
/// Where each byte takes six in JSON.
constexpr std::size_t kLeastMessage = 4 * 1024;
constexpr std::string_view kCut = " […]";
/// What names may take in all.
constexpr std::size_t kMostMethodBytes = std::size_t{64} << 20;

json object_of(const events::ThrownException& thrown, std::size_t most_message) {
  const std::size_t frames = std::min(thrown.stack.size(), kMostStackFrames);
  return {{"time", thrown.time.time_since_epoch().count()},
          {"thread", thrown.thread},
          {"type", thrown.type.substr(0, kMostType)},
          {"message", thrown.message.size() <= most_message
                          ? thrown.message
                          : thrown.message.substr(0, most_message).append(kCut)},
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
    if (thrown.type.size() > kMostName) return std::nullopt;
    return thrown;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void NamedMethods::add(Method method) {
  const std::size_t size = sizeof method + method.frame.name.size() + method.frame.module.size();
  if (held_ + size > kMostMethodBytes) return;
  if (by_begin_.insert_or_assign(method.begin, std::move(method)).second) held_ += size;
}

const profile::Frame* NamedMethods::find(std::uint64_t address) const {
  const auto after = by_begin_.upper_bound(address);
  if (after == by_begin_.begin()) return nullptr;
  const Method& method = std::prev(after)->second;
  return address < method.end ? &method.frame : nullptr;
}

std::string encode_method(const NamedMethods::Method& method) {
  return router::text_of({{"begin", method.begin},
                          {"end", method.end},
                          {"name", method.frame.name.substr(0, kMostName)},
                          {"module", method.frame.module.substr(0, kMostName)}});
}

std::optional<NamedMethods::Method> decode_method(std::string_view text) {
  try {
    const json object = parse_bounded(text, kMostMethodValues);
    NamedMethods::Method method{
        number_at<std::uint64_t>(object, "begin"), number_at<std::uint64_t>(object, "end"), {}};
    method.frame.kind = profile::FrameKind::managed;
    method.frame.name = object.at("name").get<std::string>();
    method.frame.module = object.at("module").get<std::string>();
    if (method.frame.name.size() > kMostName || method.frame.module.size() > kMostName) return std::nullopt;
    return method;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace farport::router
