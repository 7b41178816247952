#include "nettrace/trace_header.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>

#include "nettrace/limits.hpp"

namespace farport::nettrace {
namespace {

constexpr std::int64_t kUnitsPerSecond = 10'000'000;
constexpr std::int64_t kUnitsPerMillisecond = 10'000;
/// The last that fits 64 bits in units of 100 ns, and Windows' last.
constexpr int kMostYear = 30'827;

/// Windows' SYSTEMTIME: eight numbers of 16 bits.
std::int64_t read_system_time(Cursor& in) {
  using namespace std::chrono;
  std::array<std::uint16_t, 8> part{};
  for (std::uint16_t& number : part) number = in.u16();
  const auto [year_number, month_number, day_of_week, day_number, hour, minute, second, millisecond] = part;
  const year_month_day date{year{std::min<int>(year_number, kMostYear)}, month{month_number},
                            day{day_number}};
  // Months and days have a byte in a date.
  if (month_number > 12 || day_number > 31 || !date.ok() || hour > 23 || minute > 59 || second > 60 ||
      millisecond > 999) {
    in.reject("the time at which the trace began is no time");
    return 0;
  }
  const auto whole = sys_days{date} + hours{hour} + minutes{minute} + std::chrono::seconds{second};
  return whole.time_since_epoch().count() * kUnitsPerSecond + millisecond * kUnitsPerMillisecond;
}

void read_clock(Cursor& in, TraceHeader& into) {
  into.sync_time = read_system_time(in);
  into.sync_ticks = in.i64();
  into.ticks_per_second = in.i64();
  into.pointer_size = in.u32();
  if (into.ticks_per_second < 1 || into.ticks_per_second > kMostTicksPerSecond) {
    in.reject("the clock's frequency can't be");
  }
  if (into.pointer_size != 4 && into.pointer_size != 8) in.reject("pointers are neither of 4 nor of 8 bytes");
}

/// 0 where it is no number.
template <typename Number>
Number number_in(const std::string& text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::int64_t TraceHeader::time_of(std::int64_t ticks) const {
  const std::int64_t limit = ticks < sync_ticks ? std::numeric_limits<std::int64_t>::min()
                                                : std::numeric_limits<std::int64_t>::max();
  std::int64_t passed = 0;
  if (__builtin_sub_overflow(ticks, sync_ticks, &passed)) return limit;
  std::int64_t units = 0;
  if (__builtin_mul_overflow(passed / ticks_per_second, kUnitsPerSecond, &units)) return limit;
  units += passed % ticks_per_second * kUnitsPerSecond / ticks_per_second;
  std::int64_t time = 0;
  return __builtin_add_overflow(sync_time, units, &time) ? limit : time;
}

Result<TraceHeader> read_trace_object(Cursor in, std::uint32_t format) {
  TraceHeader header;
  header.format = format;
  read_clock(in, header);
  header.process_id = in.u32();
  header.processors = in.u32();
  in.u32();  // the sampling rate that nobody keeps to
  if (in.failed()) return in.error();
  return header;
}

Result<TraceHeader> read_trace_block(Cursor in) {
  TraceHeader header;
  header.format = 6;
  read_clock(in, header);
  std::size_t held = 0;
  for (std::uint32_t left = in.u32(); left > 0 && !in.failed(); --left) {
    auto& [key, value] = header.attributes.emplace_back(in.utf8(), std::string());
    value = in.utf8();
    if (key == "ProcessId") header.process_id = number_in<std::uint64_t>(value);
    if (key == "HardwareThreadCount") header.processors = number_in<std::uint32_t>(value);
    held += sizeof(header.attributes.front()) + key.size() + value.size();
    if (held > kMostTraceTextBytes) in.reject("the trace says too much of itself");
  }
  if (in.failed()) return in.error();
  return header;
}

}  // namespace farport::nettrace
