// Exceptions that a runtime says were thrown.
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
  bool nested = false;               ///< Thrown while another one was handled.
  std::vector<std::uint64_t> stack;  ///< Addresses, the innermost first.
};

/// Whether the event is about an exception that is thrown.
[[nodiscard]] bool is_exception(const nettrace::Event& event);

/// What the event says; nothing where it is not about an exception that is thrown.
[[nodiscard]] std::optional<ThrownException> read_exception(const nettrace::TraceHeader& trace,
                                                            const nettrace::Event& event);

/// Removes the runtime's own part of throwing from the names of a stack, the innermost first: from .NET 9 on,
/// exceptions are thrown by managed code (System.Runtime.EH).
void drop_dispatch(std::vector<std::string>& frames);

}  // namespace farport::events
