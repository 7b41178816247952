// Samples of what the threads of a process did, whoever took them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/call_tree.hpp"
#include "profile/frame.hpp"
#include "profile/samples.hpp"

namespace farport::profile {

struct ProfiledThread {
  std::uint64_t id = 0;  ///< The operating system's.
  std::string name;      ///< Empty where it is not known.
};

/// What made the thread be sampled.
enum class Clock : std::uint8_t {
  cpu,   ///< So much time on a processor.
  wall,  ///< So much time, on a processor or not.
};

struct Profile {
  std::string process;  ///< The runtime's name.
  std::uint64_t pid = 0;
  Clock clock = Clock::cpu;
  std::chrono::system_clock::time_point began;
  std::chrono::nanoseconds duration{};
  std::chrono::nanoseconds interval{};  ///< That a sample stands for.
  FrameTable frames;
  CallTree calls;
  std::vector<ProfiledThread> threads;
  Samples samples;         ///< By time, where each is kept.
  std::uint64_t lost = 0;  ///< Samples that could not be taken or kept.
};

}  // namespace farport::profile
