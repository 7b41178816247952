// Reads the names of methods out of what a runtime records.
#pragma once

#include "events/methods.hpp"
#include "nettrace/handler.hpp"
#include "transport/stream.hpp"

namespace farport::router {

/// Adds what is told of methods to a table, which must outlive it.
class MethodEvents final : public nettrace::Handler {
 public:
  explicit MethodEvents(events::MethodTable& to) : to_(to) {}
  void on_event(const nettrace::Event& event) override { to_.add(event); }

 private:
  events::MethodTable& to_;
};

/// Adds all that is told of methods up to the stream's end. Errors: the stream's, and one that is none of
/// events.
[[nodiscard]] transport::Task<Result<void>> read_method_events(transport::Stream& from,
                                                               events::MethodTable& to);

}  // namespace farport::router
