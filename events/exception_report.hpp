// The exceptions of a recording, once it has ended.
#pragma once

#include "events/exceptions.hpp"
#include "events/line_maker.hpp"
#include "events/methods.hpp"

namespace farport::events {

/// Keeps what is thrown until the rundown has named the methods that are on the stacks. A line of JSON each,
/// in the order of time; where there are more than it keeps, the last line says how many: {"left_out":N}.
class ExceptionReport final : public LineMaker {
 public:
  void on_trace(const nettrace::TraceHeader& trace) override { trace_ = trace; }
  void on_event(const nettrace::Event& event) override;
  void on_dropped(const nettrace::Thread& thread, std::uint32_t events) override;
  Result<std::string> take_end() override;

 private:
  nettrace::TraceHeader trace_;
  std::vector<ThrownException> thrown_;
  CodeAddresses on_stacks_;
  MethodTable methods_{on_stacks_};
  std::size_t held_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace farport::events
