#include "router/wire/samples.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "nettrace/cursor.hpp"

namespace farport::router {
namespace {

using namespace sample_record;

/// Builds a record's payload.
class Payload {
 public:
  /// Adds a number: seven bits a byte, lowest first. The highest bit says that more bytes follow.
  Payload& number(std::uint64_t value) {
    constexpr std::uint64_t kMore = 0x80;
    for (; value >= kMore; value >>= 7U) bytes_ += static_cast<char>(value | kMore);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  Payload& difference(std::uint64_t value, std::uint64_t from) {
    return number(zigzag(static_cast<std::int64_t>(value - from)));
  }
  /// Adds a text after its size.
  Payload& text(std::string_view value) {
    value = shortened(value, kMaxText);
    number(value.size());
    bytes_ += value;
    return *this;
  }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace

SampleWriter::SampleWriter() : bytes_(kMagic) {}

void SampleWriter::add(std::uint8_t kind, std::string_view payload) {
  bytes_ += static_cast<char>(kind);
  bytes_ += Payload().number(payload.size()).bytes();
  bytes_ += payload;
}

void SampleWriter::on_start(const SamplingStart& start) {
  const auto clock = static_cast<std::uint64_t>(start.clock);
  add(kStart, Payload()
                  .number(start.frequency)
                  .number(clock)
                  .number(start.kernel ? 1 : 0)
                  .number(static_cast<std::uint64_t>(start.began.count()))
                  .bytes());
}

void SampleWriter::on_thread(std::uint32_t thread, std::string_view name) {
  add(kThread, Payload().number(thread).text(name).bytes());
}

void SampleWriter::on_call(const SampledCall& call) {
  add(kCall, Payload().number(call.caller).difference(call.address, last_address_).bytes());
  last_address_ = call.address;
}

void SampleWriter::on_sample(const StackSample& sample) {
  const std::int64_t time = sample.time.count();
  add(kSample, Payload()
                   .difference(static_cast<std::uint64_t>(time), static_cast<std::uint64_t>(last_time_))
                   .number(sample.thread)
                   .number(sample.call)
                   .bytes());
  last_time_ = time;
}

void SampleWriter::on_lost(std::uint64_t samples) {
  add(kLost, Payload().number(samples).bytes());
}

void SampleWriter::on_mapping(SampledMapping mapping) {
  add(kMapping, Payload()
                    .number(mapping.start)
                    .number(mapping.end - mapping.start)
                    .number(mapping.address)
                    .text(mapping.path)
                    .text(mapping.build_id)
                    .bytes());
}

void SampleWriter::on_symbol(SampledSymbol symbol) {
  add(kSymbol, Payload()
                   .number(symbol.start)
                   .number(symbol.end - symbol.start)
                   .text(symbol.name)
                   .text(symbol.module)
                   .bytes());
}

void SampleWriter::on_note(std::string_view text) {
  add(kNote, Payload().text(text).bytes());
}

void SampleWriter::on_end(SamplingEnd end, std::string_view why) {
  add(kEnd, Payload().number(static_cast<std::uint64_t>(end)).text(why).bytes());
}

std::string SampleWriter::take() {
  return std::exchange(bytes_, std::string());
}

namespace {

using namespace sample_record;
using nettrace::Cursor;

/// The longest head of a record: its kind and its size.
constexpr std::size_t kMaxHead = 1 + 3;

tl::unexpected<Error> broken(std::string_view why) {
  return fail("read", "the samples that the agent sends", why);
}

}  // namespace

class SampleReader::Record : public Cursor {
 public:
  using Cursor::Cursor;

  /// Reads a size, and returns the end of the range that begins at `start`.
  std::uint64_t range_end(std::uint64_t start) {
    const std::uint64_t size = var_u64();
    if (size == 0 || start + size < start) reject("a range that is empty or has no end");
    return start + size;
  }
};

Result<void> SampleReader::read(std::span<const std::byte> bytes) {
  // Mostly nothing is pending, so nothing is copied.
  if (!pending_.empty()) {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    bytes = pending_;
  }
  ASSIGN_OR_RETURN(const auto taken, read_records(bytes));
  std::vector<std::byte> rest(bytes.begin() + static_cast<std::ptrdiff_t>(taken), bytes.end());
  pending_.swap(rest);
  return {};
}

Result<std::size_t> SampleReader::read_records(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  if (!greeted_) {
    const auto magic = std::as_bytes(std::span(kMagic));
    const std::size_t compared = std::min(magic.size(), bytes.size());
    if (!std::ranges::equal(bytes.first(compared), magic.first(compared))) {
      return broken("they are of a kind that this farport doesn't know");
    }
    if (compared < magic.size()) return 0;
    greeted_ = true;
    taken = magic.size();
  }
  while (taken < bytes.size()) {
    if (ended_) return broken("data follows the end record");
    const auto left = bytes.subspan(taken);
    // Look at no more than this, so that an overlong size is the same error in pieces of any size.
    Cursor head(left.first(std::min(kMaxHead, left.size())), 0);
    const std::uint8_t kind = head.u8();
    const std::uint32_t size = head.var_u32();
    if (head.failed() && left.size() < kMaxHead) break;
    if (head.failed() || size > kMaxSize) return broken("a record exceeds the maximum size");
    const std::size_t begin = head.offset();
    if (left.size() - begin < size) break;
    Record record(left.subspan(begin, size), 0);
    RETURN_IF_ERROR(hand_on(kind, record));
    taken += begin + size;
  }
  return taken;
}

Result<void> SampleReader::hand_on(std::uint8_t kind, Record& record) {
  // By the number of the kind. Kinds of later versions are skipped.
  constexpr std::array<void (SampleReader::*)(Record&), kEnd + 1> kReaders{
      nullptr,
      &SampleReader::start,
      &SampleReader::thread,
      &SampleReader::call,
      &SampleReader::sample,
      &SampleReader::lost,
      &SampleReader::mapping,
      &SampleReader::symbol,
      &SampleReader::note,
      &SampleReader::end,
  };
  if (kind >= kReaders.size() || kReaders[kind] == nullptr) return {};
  // A stream that has not begun may consist of an end alone, which says why.
  if (!started_ && kind != kStart && kind != kEnd && kind != kNote) return broken("the header is missing");
  (this->*kReaders[kind])(record);
  if (record.failed()) return broken(record.error().value().why);
  return {};
}

void SampleReader::take_one(std::uint64_t& left, Record& record) {
  if (left == 0) {
    record.reject("there are more records of a kind than allowed");
    return;
  }
  --left;
}

std::string SampleReader::text(Record& record) {
  std::string text = record.utf8();
  if (text.size() > left_.text_bytes) {
    record.reject("there is more text than allowed");
    return {};
  }
  left_.text_bytes -= text.size();
  return text;
}

void SampleReader::start(Record& record) {
  SamplingStart start;
  start.frequency = record.var_u32();
  const std::uint32_t clock = record.var_u32();
  start.clock = static_cast<SampleClock>(clock);
  start.kernel = record.var_u32() != 0;
  // Older agents don't tell it.
  const std::uint64_t began = record.at_end() ? 0 : record.var_u64();
  start.began = std::chrono::nanoseconds(std::min<std::uint64_t>(began, INT64_MAX));
  if (start.frequency == 0 || clock > static_cast<std::uint32_t>(SampleClock::wall) || started_)
    record.reject("the header is invalid");
  if (record.failed()) return;
  started_ = true;
  sink_.on_start(start);
}

void SampleReader::thread(Record& record) {
  const std::uint32_t id = record.var_u32();
  const std::string name = text(record);
  take_one(left_.threads, record);
  if (!record.failed()) sink_.on_thread(id, name);
}

void SampleReader::call(Record& record) {
  SampledCall call;
  call.caller = record.var_u32();
  call.address = last_address_ + static_cast<std::uint64_t>(record.var_i64());
  if (call.caller > calls_) record.reject("a call refers to an unknown caller");
  take_one(left_.calls, record);
  if (record.failed()) return;
  ++calls_;
  last_address_ = call.address;
  sink_.on_call(call);
}

void SampleReader::sample(Record& record) {
  StackSample sample;
  const std::uint64_t time = last_time_ + static_cast<std::uint64_t>(record.var_i64());
  sample.time = std::chrono::nanoseconds(static_cast<std::int64_t>(time));
  sample.thread = record.var_u32();
  sample.call = record.var_u32();
  if (sample.time.count() < 0) record.reject("a sample is earlier than the start");
  if (sample.call > calls_) record.reject("a sample refers to an unknown call");
  take_one(left_.samples, record);
  if (record.failed()) return;
  last_time_ = time;
  sink_.on_sample(sample);
}

void SampleReader::lost(Record& record) {
  const std::uint64_t samples = record.var_u64();
  take_one(left_.losses, record);
  if (!record.failed()) sink_.on_lost(samples);
}

void SampleReader::mapping(Record& record) {
  SampledMapping mapping;
  mapping.start = record.var_u64();
  mapping.end = record.range_end(mapping.start);
  mapping.address = record.var_u64();
  mapping.path = text(record);
  mapping.build_id = text(record);
  take_one(left_.mappings, record);
  if (!record.failed()) sink_.on_mapping(std::move(mapping));
}

void SampleReader::symbol(Record& record) {
  SampledSymbol symbol;
  symbol.start = record.var_u64();
  symbol.end = record.range_end(symbol.start);
  symbol.name = text(record);
  symbol.module = text(record);
  take_one(left_.symbols, record);
  if (!record.failed()) sink_.on_symbol(std::move(symbol));
}

void SampleReader::note(Record& record) {
  const std::string said = text(record);
  take_one(left_.notes, record);
  if (!record.failed()) sink_.on_note(said);
}

void SampleReader::end(Record& record) {
  const std::uint32_t end = record.var_u32();
  const std::string why = text(record);
  if (end > static_cast<std::uint32_t>(SamplingEnd::failed)) record.reject("the end record is invalid");
  if (record.failed()) return;
  ended_ = true;
  sink_.on_end(static_cast<SamplingEnd>(end), why);
}

}  // namespace farport::router
