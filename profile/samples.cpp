#include "profile/samples.hpp"

#include <algorithm>

namespace farport::profile {
namespace {

Count count_of_one(const Sample& sample) {
  return {.call = sample.call, .thread = sample.thread, .waiting = sample.waiting, .samples = 1};
}

}  // namespace

void Samples::add(const Sample& sample) {
  ++size_;
  if (keep_ == Keep::each) {
    each_.push_back(sample);
  } else {
    counter_.add(count_of_one(sample));
  }
}

bool Samples::full() const {
  return keep_ == Keep::each ? each_.size() >= kMostSamples : counter_.different() >= kMostCounts;
}

std::vector<Count> Samples::counts() const {
  SampleCounter counter = counter_;
  for (const Sample& sample : each_) counter.add(count_of_one(sample));
  return counter.take();
}

void Samples::sort_by_time() {
  std::stable_sort(each_.begin(), each_.end(),
                   [](const Sample& one, const Sample& other) { return one.time < other.time; });
}

void Samples::rename_calls(const std::vector<CallId>& calls) {
  for (Sample& sample : each_) sample.call = calls[sample.call];
  SampleCounter renamed;
  for (Count count : counter_.take()) {
    count.call = calls[count.call];
    renamed.add(count);
  }
  counter_ = std::move(renamed);
}

}  // namespace farport::profile
