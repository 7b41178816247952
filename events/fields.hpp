// Fields: the fields of a self-describing event, by name.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "nettrace/event.hpp"
#include "nettrace/framing.hpp"
#include "nettrace/payload.hpp"

namespace farport::events {

using Time = std::chrono::sys_time<std::chrono::microseconds>;

[[nodiscard]] inline Time time_of(const nettrace::TraceHeader& trace, const nettrace::Event& event) {
  constexpr std::int64_t kUnitsPerMicrosecond = 10;
  return Time(std::chrono::microseconds(trace.time_of(event.timestamp) / kUnitsPerMicrosecond));
}

/// When an event was written, in wall-clock time.
/// "2026-03-01T12:00:00.123456Z" (RFC 3339), in UTC.
[[nodiscard]] std::string to_string(Time time);

/// Missing and unreadable fields count as empty, since providers add and remove fields.
class Fields {
 public:
  explicit Fields(const nettrace::Event& event);
  /// The fields of a structure within an event, which must outlive this object.
  explicit Fields(const nettrace::Structure& structure);
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] std::string text(std::string_view name) const;
  /// Text, number or boolean in readable form; empty if there is no such field.
  [[nodiscard]] std::optional<std::string> shown(std::string_view name) const;
  /// A number, which may be written as text. NaN if there is none.
  [[nodiscard]] double number(std::string_view name) const;
  /// The same, rounded towards 0 and clamped to int64; 0 if there is none.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  /// A nested structure; nullptr if there is none.
  [[nodiscard]] const nettrace::Structure* structure(std::string_view name) const;

 private:
  [[nodiscard]] const nettrace::Value* find(std::string_view name) const;

  nettrace::Structure own_;
  const nettrace::Structure& members_;
};

/// Parses "12.5", whatever the locale; NaN if it is no number.
[[nodiscard]] double number_or_nan(std::string_view text);

}  // namespace farport::events
