// The memory in which the kernel puts what it samples on one processor (perf_event_open(2), "MMAP layout").
#pragma once

#include <cstddef>
#include <vector>

#include "base/error.hpp"
#include "router/agent/sampler/perf_record.hpp"

namespace farport::router {

class PerfRing {
 public:
  /// Of this counter, and of those whose records are put there, too. Errors: EPERM (`cause`): the user has no
  /// more memory for this (kernel.perf_event_mlock_kb).
  [[nodiscard]] static Result<PerfRing> map(int counter);

  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&&) = delete;
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;
  ~PerfRing();

  /// Hands on all that is there, and makes room.
  void read(PerfSink& sink);

 private:
  PerfRing(std::byte* base, std::size_t size) : base_(base), size_(size) {}

  std::byte* base_;
  std::size_t size_;               ///< Of the data, which begins a page behind the base.
  std::vector<std::byte> record_;  ///< The one that is read.
};

}  // namespace farport::router
