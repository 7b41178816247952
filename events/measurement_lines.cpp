#include "events/measurement_lines.hpp"

#include "events/json.hpp"

namespace farport::events {

void MeasurementReader::notice(const MeterNotice& notice) {
  refused_ = refused_ || notice.fatal;
  if (noticed_ == notice.text) return;
  noticed_ = notice.text;
  if (++notice_count_ <= kMostNotices) notices_.push_back(noticed_);
  if (notice_count_ == kMostNotices + 1)
    notices_.emplace_back("the runtime has more to tell, which is left out");
}

void MeasurementReader::on_event(const nettrace::Event& event) {
  auto read = read_measurement(trace_, event, session_);
  if (const auto* const told = std::get_if<MeterNotice>(&read)) return notice(*told);
  auto* const measurement = std::get_if<Measurement>(&read);
  if (measurement == nullptr || !takes_(*measurement)) return;
  measurements_.push_back(std::move(*measurement));
  any_ = true;
}

std::string JsonMeasurementLines::take_lines() {
  std::string lines;
  for (const Measurement& each : take()) lines += to_json(each) + "\n";
  return lines;
}

}  // namespace farport::events
