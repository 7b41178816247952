// The event that a recording is to end at.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "events/lines.hpp"

namespace farport::events {

/// Which event: each part narrows it down, and may be left out together with those behind it.
struct EventFilter {
  std::string provider;
  std::string event;  ///< Its name; or its number, since the runtime's own events come without names.
  std::vector<std::pair<std::string, std::string>> fields;  ///< Names and values.

  /// `payload`: "NAME:VALUE,NAME:VALUE". Errors: a part without the one before it, or that can't be read.
  static Result<EventFilter> parse(std::string provider, std::string event, const std::string& payload);
};

class StoppingEvent final : public LineMaker {
 public:
  explicit StoppingEvent(EventFilter filter) : filter_(std::move(filter)) {}

  void on_event(const nettrace::Event& event) override;
  /// Once it has come.
  [[nodiscard]] bool has_enough() const override { return seen_; }

 private:
  EventFilter filter_;
  bool seen_ = false;
};

}  // namespace farport::events
