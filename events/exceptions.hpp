// Reading the runtime's events about thrown exceptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "events/fields.hpp"

namespace farport::events {

struct ThrownException {
  Time time;
  std::uint64_t thread = 0;  ///< The operating system's id.
  std::string type;
  std::string message;
  std::uint32_t hresult = 0;
  bool rethrown = false;
  bool nested = false;               ///< Thrown while another exception was being handled.
  std::vector<std::uint64_t> stack;  ///< Addresses, the innermost first.
};

/// Whether the event reports a thrown exception.
[[nodiscard]] bool is_exception(const nettrace::Event& event);

/// The exception in the event; empty if it reports none.
[[nodiscard]] std::optional<ThrownException> read_exception(const nettrace::TraceHeader& trace,
                                                            const nettrace::Event& event);

/// Removes the runtime's own dispatch frames from a stack's names, the innermost first. From .NET 9 on,
/// managed code throws exceptions (System.Runtime.EH).
void drop_dispatch(std::vector<std::string>& frames);

}  // namespace farport::events
