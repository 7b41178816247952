// Timeline: what happened in a process within some minutes, by time; and writing it as a page or as JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "events/fields.hpp"
#include "events/logs.hpp"
#include "events/measurements.hpp"
#include "profile/output.hpp"

namespace farport::timeline {

using events::Time;
using Length = std::chrono::microseconds;

/// How the process was at a moment.
struct Moment {
  Time time;
  events::Vitals vitals;
};

/// The process stood still for a garbage collection.
struct Pause {
  Time begun;
  Length length{};
  std::uint32_t generation = 0;
};

/// An index in Timeline::stacks.
using StackId = std::uint32_t;

/// A thread waited for a lock that another one held.
struct LockWait {
  Time begun;
  Length length{};
  std::uint64_t thread = 0;  ///< The operating system's id.
  StackId stack = 0;
};

struct Thrown {
  Time time;
  std::uint64_t thread = 0;
  std::string type;
  std::string message;
  StackId stack = 0;
};

/// A thread was on a processor.
struct Sample {
  Time time;
  std::uint64_t thread = 0;
  StackId stack = 0;
};

/// Whose timeline it is, for people.
struct Process {
  std::string name;
  std::string place{};  ///< The container and the host; may be empty.
  std::string end{};    ///< How it ended; empty if it has not, or if that is unknown.
};

struct Timeline {
  Process process;
  std::uint64_t pid = 0;
  Time begin;  ///< Of the first and the last of what follows.
  Time end;
  // Each ordered by time:
  std::vector<Moment> moments;
  std::vector<Pause> pauses;
  std::vector<LockWait> lock_waits;
  std::vector<Time> starved;  ///< The thread pool added a thread because none of its threads got on.
  std::vector<Thrown> exceptions;
  std::vector<events::LogEntry> logs;
  std::vector<Sample> samples;

  std::vector<std::vector<std::uint32_t>> stacks;  ///< Indexes in `frames`, the innermost first.
  std::vector<std::string> frames;                 ///< Names, or addresses.
  std::uint64_t left_out = 0;                      ///< Events that took too much memory, the oldest ones.
};

/// Writes it as JSON. Times and lengths are in milliseconds, times since `began`, which is since 1970.
/// Members of `vitals` are lists with a value, or null, for each of its times; sizes are in bytes. `stack` is
/// an index in `stacks`, whose numbers are indexes in `frames`. `samples` has the numbers of each sample in a
/// row: its time, thread and stack.
void write_json(const Timeline& timeline, profile::Output& out);

/// Writes it as a page in one file; timeline/page/ has its appearance.
void write_html(const Timeline& timeline, profile::Output& out);

}  // namespace farport::timeline
