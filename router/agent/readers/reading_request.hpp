// What a reader is to make of a recording.
#pragma once

#include <cstdint>
#include <string>

namespace farport::router {

/// What a reader is to make, and what it may use for it.
struct ReadingRequest {
  enum class Kind : std::uint8_t { counters, logs, exceptions, stacks, heap, metrics };
  Kind kind{};
  std::string text{};  ///< `counters`, `metrics`: which, as a request names them; `heap`: the process's name.
  std::uint64_t memory_bytes = 0;  ///< Beside what every reader has.
  std::uint32_t processor_seconds = 0;
};

}  // namespace farport::router
