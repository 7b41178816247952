#include "events/measurement_lines.hpp"

#include "events/json.hpp"

namespace farport::events {

void MeasurementReader::on_event(const nettrace::Event& event) {
  auto read = read_measurement(trace_, event, session_);
  const auto* const notice = std::get_if<MeterNotice>(&read);
  if (notice != nullptr && noticed_ != notice->text) notices_.push_back(noticed_ = notice->text);
  refused_ = refused_ || (notice != nullptr && notice->fatal);
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
