// All stacks of a profile as one tree, of which each call is told once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "router/agent/sampler/perf_record.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

class StackTree {
 public:
  /// `kernel_base`: what is taken away from the kernel's addresses, so that nobody learns where it is.
  /// `memory`: about so many bytes for calls, of which 16 MiB are the most that is used.
  StackTree(std::uint64_t kernel_base, std::uint64_t memory);

  /// The innermost call of a sample's stack. Calls that are new are told to `to`. A stack that would make
  /// more of them than there may be ends where they are used up.
  CallNumber add(const PerfSample& sample, SampleSink& to);

  /// All addresses that are in it, each once, in their order. The kernel's, by the highest bit, stand at the
  /// end.
  [[nodiscard]] std::vector<std::uint64_t> addresses() const;

 private:
  struct Edge {
    CallNumber caller;
    std::uint64_t address;
    bool operator==(const Edge&) const = default;
  };
  struct EdgeHash {
    std::size_t operator()(const Edge& edge) const {
      return std::hash<std::uint64_t>()(edge.address * 0x9E3779B97F4A7C15U + edge.caller);
    }
  };
  CallNumber call(CallNumber caller, std::uint64_t address, SampleSink& to);

  std::uint64_t kernel_base_;
  std::size_t most_calls_;
  std::unordered_map<Edge, CallNumber, EdgeHash> calls_;
};

}  // namespace farport::router
