#include "router/readers/reader_frames.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "base/output_file.hpp"
#include "base/text.hpp"
#include "router/wire/json_members.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kMaxFailurePart = 1024;

}  // namespace

std::string encode_failure(const Error& error) {
  std::string text = error.what;
  for (const std::string* const part : {&error.on, &error.why, &error.hint}) (text += '\0') += *part;
  return text;
}

Error decode_failure(std::string_view text) {
  std::array<std::string, 4> parts;
  for (std::string& part : parts) part = shortened(take_until(text, '\0'), kMaxFailurePart);
  auto& [what, on, why, hint] = parts;
  if (why.empty()) why = "its reader process gave no reason";
  return {what.empty() ? "read" : what, on, why, hint};
}

ReaderInput::ReaderInput(int from)
    : from_(from), piece_(std::make_unique_for_overwrite<std::byte[]>(kReadBytes)) {}

std::span<std::byte> ReaderInput::piece() const {
  return {piece_.get(), kReadBytes};
}

bool ReaderInput::wait(std::chrono::milliseconds longest) const {
  pollfd input{from_, POLLIN, 0};
  return ::poll(&input, 1, static_cast<int>(longest.count())) != 0;
}

Result<ReaderInput::Piece> ReaderInput::next_of_part() {
  ASSIGN_OR_RETURN(const auto head, read_whole(kPieceHead));
  std::uint32_t size = 0;
  for (std::size_t i = kPieceHead; i-- > 0;) size = (size << 8U) | std::to_integer<std::uint32_t>(head[i]);
  if (size > kReadBytes) return fail("read", "the data passed on", "it is malformed");
  return read_whole(size);
}

Result<ReaderInput::Piece> ReaderInput::read_some(std::span<std::byte> into) const {
  for (;;) {
    const ssize_t got = ::read(from_, into.data(), into.size());
    if (got >= 0) return Piece(into).first(static_cast<std::size_t>(got));
    if (errno != EINTR) return fail_errno("read", "the data passed on", errno);
  }
}

Result<ReaderInput::Piece> ReaderInput::read_whole(std::size_t size) {
  const std::span<std::byte> whole = piece().first(size);
  for (std::size_t have = 0; have < size;) {
    ASSIGN_OR_RETURN(const auto got, read_some(whole.subspan(have)));
    if (got.empty()) return fail("read", "the data passed on", "it breaks off");
    have += got.size();
  }
  return whole;
}

void ReaderOutput::write(ReaderFrame kind, std::string_view text) {
  do {
    std::string_view piece = text.substr(0, kMaxFrame);
    // Split between lines where possible.
    if (piece.size() < text.size()) piece = piece.substr(0, piece.rfind('\n') + 1);
    if (piece.empty()) piece = text.substr(0, kMaxFrame);
    const auto size = static_cast<std::uint32_t>(piece.size());
    std::array<char, kFrameHead> head{static_cast<char>(kind)};
    for (std::size_t i = 1; i < head.size(); ++i) head[i] = static_cast<char>(size >> (8 * (i - 1)));
    if (write_whole(to_, std::as_bytes(std::span(head))) != 0) ::_exit(1);
    if (write_whole(to_, std::as_bytes(std::span(piece))) != 0) ::_exit(1);
    text.remove_prefix(piece.size());
  } while (!text.empty());
}

namespace {

constexpr std::size_t kMaxMeasurementNames = 1024;
constexpr std::size_t kMaxQuantiles = 16;
/// A byte of a name may take six bytes in JSON.
constexpr std::size_t kMaxFrameText = 16 * 1024;
constexpr std::size_t kMaxJsonValues = 192;
constexpr std::size_t kMaxLabels = 64;

bool fits(const events::Measurement& measurement) {
  const std::size_t names = measurement.provider.size() + measurement.name.size() + measurement.tags.size() +
                            measurement.unit.size() + measurement.display_name.size();
  // Labels say what the tags say, and not more.
  std::size_t labels = 0;
  for (const auto& [name, value] : measurement.labels) labels += name.size() + value.size();
  return names <= kMaxMeasurementNames && measurement.quantiles.size() <= kMaxQuantiles &&
         measurement.labels.size() <= kMaxLabels && labels <= kMaxMeasurementNames;
}

/// A value that JSON can't express, such as infinity, becomes null.
json object_with(const std::optional<double>& value) {
  return value ? json(*value) : json();
}

std::optional<double> number_of(const json& object, const char* name) {
  const json& member = object.at(name);
  if (!member.is_number()) return std::nullopt;
  return member.get<double>();
}

}  // namespace

std::optional<std::string> encode_measurement(const events::Measurement& measurement) {
  if (!fits(measurement) || !std::isfinite(measurement.value)) return std::nullopt;
  json quantiles = json::array();
  for (const auto& [quantile, value] : measurement.quantiles) {
    if (!std::isfinite(quantile) || !std::isfinite(value)) continue;
    quantiles.push_back(quantile);
    quantiles.push_back(value);
  }
  json labels = json::array();
  for (const auto& [name, value] : measurement.labels) {
    labels.push_back(name);
    labels.push_back(value);
  }
  return router::text_of({{"meter", measurement.is_meter},
                          {"provider", measurement.provider},
                          {"name", measurement.name},
                          {"display", measurement.display_name},
                          {"unit", measurement.unit},
                          {"tags", measurement.tags},
                          {"labels", std::move(labels)},
                          {"kind", static_cast<unsigned>(measurement.kind)},
                          {"value", measurement.value},
                          {"total", object_with(measurement.total)},
                          {"sum", object_with(measurement.sum)},
                          {"interval", std::isfinite(measurement.interval) ? measurement.interval : 0},
                          {"quantiles", std::move(quantiles)}});
}

std::optional<events::Measurement> decode_measurement(std::string_view text) {
  if (text.size() > kMaxFrameText) return std::nullopt;
  try {
    const json object = parse_bounded(text, kMaxJsonValues);
    events::Measurement measurement;
    measurement.is_meter = object.at("meter").get<bool>();
    measurement.provider = object.at("provider").get<std::string>();
    measurement.name = object.at("name").get<std::string>();
    measurement.display_name = object.at("display").get<std::string>();
    measurement.unit = object.at("unit").get<std::string>();
    measurement.tags = object.at("tags").get<std::string>();
    const json& labels = object.at("labels");
    for (std::size_t i = 0; i + 1 < labels.size(); i += 2)
      measurement.labels.emplace_back(labels.at(i).get<std::string>(), labels.at(i + 1).get<std::string>());
    const auto kind = number_at<std::uint8_t>(object, "kind");
    if (kind > static_cast<std::uint8_t>(events::Measurement::Kind::histogram)) return std::nullopt;
    measurement.kind = static_cast<events::Measurement::Kind>(kind);
    const auto value = number_of(object, "value");
    if (!value) return std::nullopt;
    measurement.value = *value;
    measurement.total = number_of(object, "total");
    measurement.sum = number_of(object, "sum");
    measurement.interval = number_of(object, "interval").value_or(0);
    const json& quantiles = object.at("quantiles");
    for (std::size_t i = 0; i + 1 < quantiles.size(); i += 2) {
      if (!quantiles.at(i).is_number() || !quantiles.at(i + 1).is_number()) continue;
      measurement.quantiles.emplace_back(quantiles.at(i).get<double>(), quantiles.at(i + 1).get<double>());
    }
    if (!fits(measurement)) return std::nullopt;
    return measurement;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

namespace {

/// EventPipe's stacks have 100 frames at most.
constexpr std::size_t kMaxStackFrames = 1000;
constexpr std::size_t kMaxExceptionValues = kMaxStackFrames + 16;
constexpr std::size_t kMaxMethodValues = 8;
constexpr std::size_t kMaxFrameName = 4 * 1024;
constexpr std::size_t kMaxType = 1024;
/// How much is kept of a message if the whole does not fit in a frame. A byte may take six bytes in JSON.
constexpr std::size_t kMinMessage = 4 * 1024;
constexpr std::string_view kCut = " […]";
/// The most memory for the names of methods.
constexpr std::size_t kMaxMethodBytes = std::size_t{64} << 20;

json object_of(const events::ThrownException& thrown, std::size_t most_message) {
  const std::size_t frames = std::min(thrown.stack.size(), kMaxStackFrames);
  return {{"time", thrown.time.time_since_epoch().count()},
          {"thread", thrown.thread},
          {"type", shortened(thrown.type, kMaxType)},
          {"message", thrown.message.size() <= most_message
                          ? thrown.message
                          : std::string(shortened(thrown.message, most_message)).append(kCut)},
          {"hresult", thrown.hresult},
          {"rethrown", thrown.rethrown},
          {"nested", thrown.nested},
          {"stack",
           std::vector(thrown.stack.begin(), thrown.stack.begin() + static_cast<std::ptrdiff_t>(frames))}};
}

}  // namespace

std::string encode_exception(const events::ThrownException& thrown) {
  std::string whole = router::text_of(object_of(thrown, thrown.message.size()));
  return whole.size() <= kMaxFrame ? whole : router::text_of(object_of(thrown, kMinMessage));
}

std::optional<events::ThrownException> decode_exception(std::string_view text) {
  try {
    const json object = parse_bounded(text, kMaxExceptionValues);
    events::ThrownException thrown;
    thrown.time = events::Time(events::Time::duration(object.at("time").get<events::Time::rep>()));
    thrown.thread = number_at<std::uint64_t>(object, "thread");
    thrown.type = object.at("type").get<std::string>();
    thrown.message = object.at("message").get<std::string>();
    thrown.hresult = number_at<std::uint32_t>(object, "hresult");
    thrown.rethrown = object.at("rethrown").get<bool>();
    thrown.nested = object.at("nested").get<bool>();
    thrown.stack = object.at("stack").get<std::vector<std::uint64_t>>();
    if (thrown.type.size() > kMaxFrameName) return std::nullopt;
    return thrown;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void NamedMethods::add(Method method) {
  const std::size_t size = sizeof method + method.frame.name.size() + method.frame.module.size();
  if (held_ + size > kMaxMethodBytes) return;
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
                          {"name", shortened(method.frame.name, kMaxFrameName)},
                          {"module", shortened(method.frame.module, kMaxFrameName)}});
}

std::optional<NamedMethods::Method> decode_method(std::string_view text) {
  try {
    const json object = parse_bounded(text, kMaxMethodValues);
    NamedMethods::Method method{
        number_at<std::uint64_t>(object, "begin"), number_at<std::uint64_t>(object, "end"), {}};
    method.frame.kind = profile::FrameKind::managed;
    method.frame.name = object.at("name").get<std::string>();
    method.frame.module = object.at("module").get<std::string>();
    if (method.frame.name.size() > kMaxFrameName || method.frame.module.size() > kMaxFrameName)
      return std::nullopt;
    return method;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace farport::router
