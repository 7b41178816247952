// What a reader is to make of a recording.
#pragma once

#include <cstdint>
#include <string>

#include "profile/form.hpp"

namespace farport::router {

/// The part of a ReadingRequest that has a fixed size.
struct ReadingTask {
  enum class Kind : std::uint8_t {
    counters,
    logs,
    exceptions,
    stacks,
    heap,
    profile,  ///< Of samples, which are a part, and methods as the runtime tells them.
    metrics,
    methods,  ///< At addresses, which are a part, as the runtime tells them.
    local,    ///< What the command does that has started the reader.
  };
  Kind kind{};
  std::uint64_t memory_bytes = 0;  ///< Beside what every reader has.
  std::uint32_t processor_seconds = 0;
  profile::Form form{};   ///< `profile`: what it becomes.
  std::uint64_t pid = 0;  ///< `profile`: the process's, as it says itself.

  /// Whether the answer is one that is there whole or not at all.
  [[nodiscard]] bool makes_document() const {
    return kind == Kind::stacks || kind == Kind::heap || kind == Kind::profile;
  }
};

/// What a reader is to make, and what it may use for it.
struct ReadingRequest : ReadingTask {
  std::string text{};  ///< `counters`, `metrics`: which, as a request names them; `heap`, `profile`: the
                       ///< process's name.
};

/// Of a command's, on the machine of whoever has started it: with half of the memory that there is, and as
/// long as it takes.
[[nodiscard]] ReadingRequest local_request(ReadingTask::Kind kind, std::string text = {});

}  // namespace farport::router
