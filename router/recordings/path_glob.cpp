#include "router/recordings/path_glob.hpp"

#include <cstddef>

#include "base/text.hpp"

namespace farport::router {

PathGlob::PathGlob(std::string_view pattern) {
  while (!pattern.empty()) {
    std::size_t used = 1;
    Step step{Part::letter, lower_case(pattern.front())};
    if (pattern.starts_with("**/")) {
      step.part = Part::segments;
      used = 3;
    } else if (pattern.starts_with("**")) {
      step.part = Part::rest;
      used = 2;
    } else if (pattern.front() == '*') {
      step.part = Part::within_segment;
    }
    steps_.push_back(step);
    pattern.remove_prefix(used);
  }
}

void PathGlob::add(Places& to, std::size_t step) const {
  // All but letters may stand for nothing.
  while (!to[step]) {
    to[step] = true;
    if (step == steps_.size() || steps_[step].part == Part::letter) return;
    ++step;
  }
}

bool PathGlob::matches(std::string_view path) const {
  Places now(steps_.size() + 1);
  add(now, 0);
  for (const char each : path) {
    Places next(steps_.size() + 1);
    for (std::size_t at = 0; at < steps_.size(); ++at) {
      if (!now[at]) continue;
      const Step& step = steps_[at];
      const bool is_slash = each == '/';
      if (step.part == Part::letter && lower_case(each) == step.letter) add(next, at + 1);
      if (step.part == Part::rest || (step.part == Part::within_segment && !is_slash)) add(next, at);
      // Whole segments: what follows begins after a "/".
      if (step.part == Part::segments && is_slash) add(next, at);
      if (step.part == Part::segments && !is_slash) next[at] = true;
    }
    now = std::move(next);
  }
  return now.back();
}

}  // namespace farport::router
