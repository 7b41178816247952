// RuleSettings: an element of [[rules]].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "auth/rules.hpp"
#include "config/command_settings.hpp"

namespace farport::config {

/// What to take of a runtime when something happens to it.
struct RuleSettings {
  std::string name;  ///< For the log, the metrics and what is taken.
  auth::RuntimeFilter runtimes;
  std::optional<double> pid;            ///< Of the only one.
  bool start = false;                   ///< When it starts.
  std::string counter;                  ///< "System.Runtime[cpu-usage]": when its value is beyond a bound.
  std::vector<std::string> tags;        ///< "NAME=VALUE": of the series of that counter.
  std::optional<double> above;          ///< The bound, or
  std::optional<double> below;          ///< this one, or between both.
  std::optional<double> percentile;     ///< Of a histogram: 50, 95 or 99.
  Milliseconds lasts{0};                ///< How long the value must be beyond it, or the process hang.
  std::vector<std::string> logs;        ///< When it logs in these categories: globs.
  std::string level = "Warning";        ///< The lowest level of these.
  std::vector<std::string> exceptions;  ///< When it throws these types: globs.
  std::string text;                     ///< What the message of either has in it.
  std::vector<std::string> requests;    ///< When it gets requests for these paths: globs.
  std::vector<std::string> except;      ///< Paths that don't count.
  std::vector<std::string> statuses;    ///< "404", "500-599": of answers that count; none: all requests do.
  Milliseconds slower{0};               ///< Requests without an answer for so long count; 0: all.
  std::uint64_t count = 1;              ///< So many of these
  Milliseconds span{60'000};            ///< in this time.
  std::optional<double> memory;         ///< When its control group uses so many percent of its limit.
  bool crash = false;                   ///< When its process ends, but with exit code 0.
  bool hang = false;                    ///< When its process stands still, or does not answer.
  std::vector<std::string> actions;     ///< "gcdump", "trace 30s": in turn.
  CommandSettings run;                  ///< What "run" runs.
  std::uint64_t times = 1;              ///< How often it may fire within the time for one application,
  std::uint64_t total = 10;             ///< and for all.
  std::uint64_t at_once = 1;            ///< For how many applications at a time.
  Milliseconds within{60 * 60'000};
  std::uint64_t bytes = 0;  ///< What it may take within the time, on the disk; 0: as the directory has.
  std::string hours;        ///< "08:00-18:00": the only time of the day; empty: always.
  Milliseconds age{0};      ///< How long after the application's start it may fire; 0: always.
};

}  // namespace farport::config
