// Fuzzes the JSON that a mirror reads from an agent. The first byte of an input says what it is meant to be.
#include <string>

#include "router/wire/diagnosis.hpp"
#include "router/wire/dump.hpp"
#include "router/wire/runtime.hpp"
#include "tests/fuzz/heap_peak.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport;
using namespace farport::router;
using farport::fuzz::check_round_trip;
using farport::fuzz::HeapPeak;
using farport::fuzz::require;

namespace {

/// nlohmann's values have 16 bytes, and what contains others an allocation of its own; vectors double.
constexpr std::size_t kBytesPerByte = 100;
constexpr std::size_t kBytesAnyway = 64 * 1024;
constexpr std::size_t kLongestReason = 5000;

template <typename T>
void check_reason(const Result<T>& read) {
  if (!read) require(read.error().message().size() <= kLongestReason, "an error is short enough to be shown");
}

void read_list(const std::string& text) {
  check_reason(runtimes_from_json(text));
  check_round_trip(text, runtimes_from_json,
                   [](const std::vector<Runtime>& runtimes) { return to_json(runtimes); });
}

void read_event(const std::string& text) {
  check_reason(event_from_json(text));
  check_round_trip(text, event_from_json, [](const RuntimeEvent& event) { return to_json_line(event); });
}

void read_access(const std::string& text) {
  const auto rows = access_from_json(text);
  check_reason(rows);
  std::size_t size = 0;
  for (const AccessRow& row : rows.value_or(std::vector<AccessRow>()))
    size += row.command.size() + row.runtime.size() + row.rule.size() + row.role.size() + row.why.size();
  require(size <= text.size(), "what is read of access is in the answer");
}

void read_progress(const std::string& text) {
  const auto read = dump_progress_from_json(text);
  check_reason(read);
  check_round_trip(text, dump_progress_from_json,
                   [](const DumpProgress& progress) { return to_json(progress); });
}

void read_kept(const std::string& text) {
  check_reason(kept_dump_from_json(text));
  check_round_trip(text, kept_dump_from_json, [](const std::string& path) {
    return to_json(KeptDump{"/proc/1/root" + path, path, 0});
  });
}

void read_error(const std::string& text) {
  const RefusedRequest refused = error_from_json(text);
  require(refused.why.size() <= kLongestReason, "a refusal is short enough to be shown");
  const RefusedRequest again = error_from_json(error_json(refused.why, refused.hresult));
  require(again.hresult == refused.hresult, "a refusal's HRESULT survives");
  require(error_json(again.why) == error_json(refused.why), "a refusal's cause survives");
}

void read_doctor(const std::string& text) {
  check_reason(doctor_answer_from_json(text));
  check_round_trip(text, doctor_answer_from_json, [](const DoctorAnswer& answer) { return to_json(answer); });
}

constexpr void (*kReaders[])(const std::string&) = {read_list, read_event, read_access, read_progress,
                                                    read_kept, read_error, read_doctor};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const HeapPeak peak;
  kReaders[data[0] % std::size(kReaders)](text);
  require(peak.bytes() <= kBytesAnyway + kBytesPerByte * size,
          "JSON takes memory in proportion to its length");
  return 0;
}
