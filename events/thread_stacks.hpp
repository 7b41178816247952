// What each thread of a runtime does, by the last sample of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "events/methods.hpp"
#include "nettrace/handler.hpp"

namespace farport::events {

struct ThreadStack {
  std::uint64_t thread = 0;  ///< The operating system's id.
  std::string name;          ///< Empty where it is not known.
  /// False: it waits, or runs code that is none of .NET's. None: it was looked at from outside, and nobody
  /// knows.
  std::optional<bool> managed = true;
  /// The innermost first: "Orders.dll!Orders.Pricing.Quote(int32)".
  std::vector<std::string> frames;
};

/// Hands on stacks, one at a time: names may be long.
using EachStack = std::function<void(const std::function<void(const ThreadStack&)>&)>;

/// Takes the samples of a brief recording, and the names that its rundown brings at the end.
class ThreadStacks final : public nettrace::Handler {
 public:
  void on_event(const nettrace::Event& event) override;

  /// Each of them, by the threads' ids, once nothing more comes.
  void each(const std::function<void(const ThreadStack&)>& take) const;
  /// How many samples are left out, since there is more than is kept.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  struct Last {
    std::string name;
    bool managed = true;
    std::vector<std::uint64_t> stack;
  };

  void add_sample(const nettrace::Event& event);

  std::map<std::uint64_t, Last> threads_;
  std::size_t kept_ = 0;  ///< Addresses.
  std::uint64_t left_out_ = 0;
  CodeAddresses sampled_;
  MethodTable methods_{sampled_};
};

}  // namespace farport::events
