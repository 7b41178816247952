// What an agent asks of its sampler.
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace farport::router {

/// What is looked at.
enum class SamplingEvent : std::uint8_t {
  cpu,   ///< What computes, when the kernel says so.
  wall,  ///< All threads, by looking.
};

struct SamplingRequest {
  SamplingEvent event = SamplingEvent::cpu;
  pid_t process = 0;
  uid_t user = 0;               ///< Whose process it is.
  std::uint32_t frequency = 0;  ///< A second; of what computes, each busy thread.
  std::uint32_t seconds = 0;    ///< After which it ends.
  std::uint64_t memory = 0;     ///< That it may take, in bytes.
  bool kernel = false;          ///< The kernel's part of stacks too, where the kernel lets us have it.
};

/// The first byte of what comes back.
inline constexpr char kSampling = 's';
inline constexpr char kRefused = 'r';   ///< It may not, or cannot, be sampled.
inline constexpr char kNoMemory = 'm';  ///< It takes more memory than the request has.

}  // namespace farport::router
