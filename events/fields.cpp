#include "events/fields.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/text.hpp"
#include "nettrace/payload.hpp"

namespace farport::events {

std::string to_string(Time time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

nettrace::Structure members_of(const nettrace::Event& event) {
  auto members = nettrace::decode_payload(event.definition, event.payload, event.payload_offset);
  return members ? std::move(*members) : nettrace::Structure();
}

struct AsNumber {
  double operator()(bool is) const { return is ? 1 : 0; }
  double operator()(std::int64_t number) const { return static_cast<double>(number); }
  double operator()(std::uint64_t number) const { return static_cast<double>(number); }
  double operator()(double number) const { return number; }
  double operator()(const std::string& text) const { return number_or_nan(text); }
  template <typename Other>
  double operator()(const Other& /*value*/) const {
    return kNone;
  }
};

struct AsShown {
  std::optional<std::string> operator()(bool is) const { return is ? "true" : "false"; }
  std::optional<std::string> operator()(std::int64_t number) const { return std::to_string(number); }
  std::optional<std::string> operator()(std::uint64_t number) const { return std::to_string(number); }
  std::optional<std::string> operator()(double number) const { return fmt::format("{}", number); }
  std::optional<std::string> operator()(const std::string& text) const { return text; }
  template <typename Other>
  std::optional<std::string> operator()(const Other& /*value*/) const {
    return std::nullopt;
  }
};

}  // namespace

double number_or_nan(std::string_view text) {
  return number_in<double>(text).value_or(kNone);
}

Fields::Fields(const nettrace::Event& event) : own_(members_of(event)), members_(own_) {}

Fields::Fields(const nettrace::Structure& structure) : members_(structure) {}

const nettrace::Value* Fields::find(std::string_view name) const {
  for (const nettrace::Member& member : members_) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

std::string Fields::text(std::string_view name) const {
  const nettrace::Value* const value = find(name);
  const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(&value->is);
  return text == nullptr ? std::string() : *text;
}

std::optional<std::string> Fields::shown(std::string_view name) const {
  const nettrace::Value* const value = find(name);
  return value == nullptr ? std::nullopt : std::visit(AsShown(), value->is);
}

double Fields::number(std::string_view name) const {
  const nettrace::Value* const value = find(name);
  return value == nullptr ? kNone : std::visit(AsNumber(), value->is);
}

std::int64_t Fields::integer(std::string_view name) const {
  constexpr double kMax = 9.2e18;
  const double value = number(name);
  return std::abs(value) < kMax ? static_cast<std::int64_t>(value) : 0;
}

const nettrace::Structure* Fields::structure(std::string_view name) const {
  const nettrace::Value* const value = find(name);
  return value == nullptr ? nullptr : std::get_if<nettrace::Structure>(&value->is);
}

}  // namespace farport::events
