// An application's counters as lines.
#pragma once

#include <functional>
#include <utility>

#include "events/line_maker.hpp"
#include "events/measurements.hpp"

namespace farport::events {

/// Notices shown of one recording.
inline constexpr std::size_t kMostNotices = 10;

/// Collects those that are wanted, and what the runtime has to say of them.
class MeasurementReader : public LineMaker {
 public:
  using Takes = std::function<bool(const Measurement&)>;

  /// `session`: of the meters. `takes`: whether one is wanted.
  MeasurementReader(std::string_view session, Takes takes) : session_(session), takes_(std::move(takes)) {}

  void on_trace(const nettrace::TraceHeader& trace) override { trace_ = trace; }
  void on_event(const nettrace::Event& event) override;
  /// kMostNotices of them, and that there are more.
  std::vector<std::string> take_notices() override { return std::exchange(notices_, {}); }

  /// Whether the runtime has refused to tell meters, and nothing else has come.
  [[nodiscard]] bool is_refused() const { return refused_ && !any_; }

  /// What has come since the last call.
  [[nodiscard]] std::vector<Measurement> take() { return std::exchange(measurements_, {}); }

 private:
  void notice(const MeterNotice& notice);

  std::string session_;
  Takes takes_;
  nettrace::TraceHeader trace_;
  std::vector<Measurement> measurements_;
  std::vector<std::string> notices_;
  std::string noticed_;  ///< The last one.
  std::size_t notice_count_ = 0;
  bool refused_ = false;
  bool any_ = false;
};

/// Each as an object.
class JsonMeasurementLines final : public MeasurementReader {
 public:
  using MeasurementReader::MeasurementReader;
  std::string take_lines() override;
};

}  // namespace farport::events
