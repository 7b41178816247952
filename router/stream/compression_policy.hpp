// Whether what is sent to a tool is worth compressing: only while the network is what it waits for.
#pragma once

#include <chrono>
#include <cstddef>

#include "router/wire/session_options.hpp"

namespace farport::router {

/// Judges by what has been sent: how long it had to wait, and how much smaller it got.
class CompressionPolicy {
 public:
  using Clock = std::chrono::steady_clock;

  /// Not `never`: nothing is offered then.
  explicit CompressionPolicy(Compression mode) : mode_(mode), worthwhile_(mode == Compression::always) {}

  /// Whether to compress the next bytes.
  [[nodiscard]] bool compress() const { return worthwhile_ && plain_bytes_left_ == 0; }
  /// As a zstd level: the slower the network, the more work is worth it.
  [[nodiscard]] int level() const { return level_; }

  /// Compressed bytes, before and after.
  void compressed(std::size_t before, std::size_t after);
  /// Bytes that were sent as they are.
  void plain(std::size_t bytes);
  /// Bytes that were on hand at `begun` and had been taken by the network at `done`.
  void sent(std::size_t bytes, Clock::time_point begun, Clock::time_point done);

 private:
  void update(double seconds);

  Compression mode_;
  bool worthwhile_;
  int level_ = kQuickLevel;
  int idle_windows_ = 0;              ///< Times in a row that nothing waited.
  int failures_ = 0;                  ///< Times in a row that it didn't help.
  std::size_t backoff_bytes_ = 0;     ///< For how many bytes it is left alone at the next disappointment.
  std::size_t plain_bytes_left_ = 0;  ///< Bytes to be sent before it is tried again.
  Clock::time_point since_{};         ///< Of what follows.
  Clock::duration waited_{};
  std::size_t bytes_ = 0;

  static constexpr int kQuickLevel = 1;
  static constexpr int kThoroughLevel = 7;
};

}  // namespace farport::router
