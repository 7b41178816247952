#include "router/wire/samples.hpp"

#include <utility>

#include "router/wire/sample_records.hpp"

namespace farport::router {
namespace {

using namespace sample_record;

/// A record's payload.
class Payload {
 public:
  /// Seven bits a byte, the lowest first; the highest bit says that more follow.
  Payload& number(std::uint64_t value) {
    constexpr std::uint64_t kMore = 0x80;
    for (; value >= kMore; value >>= 7U) bytes_ += static_cast<char>(value | kMore);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  Payload& difference(std::uint64_t value, std::uint64_t from) {
    return number(zigzag(static_cast<std::int64_t>(value - from)));
  }
  /// Behind its size.
  Payload& text(std::string_view value) {
    value = value.substr(0, kMaxText);
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
  add(kStart, Payload().number(start.frequency).number(clock).number(start.kernel ? 1 : 0).bytes());
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

}  // namespace farport::router
