// The fields of an event that describes itself, by their names.
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

/// When an event was written, by the clock on the wall.
/// "2026-03-01T12:00:00.123456Z" (RFC 3339), in UTC.
[[nodiscard]] std::string to_string(Time time);

/// What can't be read, and what is not there, is as if it were empty: providers add and leave out fields.
class Fields {
 public:
  explicit Fields(const nettrace::Event& event);
  /// Of a structure within an event, which must outlive this.
  explicit Fields(const nettrace::Structure& structure);
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] std::string text(std::string_view name) const;
  /// A text, a number or a truth value as people write it; nothing where there is none.
  [[nodiscard]] std::optional<std::string> shown(std::string_view name) const;
  /// A number, also where it is written as a text. NaN where it is none.
  [[nodiscard]] double number(std::string_view name) const;
  /// The same, rounded towards 0 and within int64's range; 0 where it is none.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  /// A structure within; nothing where there is none.
  [[nodiscard]] const nettrace::Structure* structure(std::string_view name) const;

 private:
  [[nodiscard]] const nettrace::Value* find(std::string_view name) const;

  nettrace::Structure own_;
  const nettrace::Structure& members_;
};

/// "12.5" as a number, whatever the language of the user's environment; NaN where it is none.
[[nodiscard]] double number_in(std::string_view text);

}  // namespace farport::events
