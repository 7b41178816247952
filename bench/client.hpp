// A diagnostic connection as a tool makes it, with plain blocking calls.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "ipc/message.hpp"

namespace farport::bench {

/// A connection to a Unix socket. Owns it. Everything throws std::runtime_error, also after ten seconds
/// without a byte.
class Connection {
 public:
  explicit Connection(const std::string& path);
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  [[nodiscard]] int fd() const { return fd_; }
  /// Writes all of `message`.
  void send(std::span<const std::byte> message) const;
  /// The whole answer, which must be an OK; bytes of a continuation after it stay unread.
  void receive_ok() const;
  /// Reads what is there into `buffer`, waiting for the first byte: how much, 0 at the end.
  [[nodiscard]] std::size_t read(std::span<std::byte> buffer) const;

 private:
  int fd_ = -1;
};

/// ProcessInfo2, encoded.
[[nodiscard]] ipc::Bytes process_info_command();
/// CollectTracing2 for one provider, encoded.
[[nodiscard]] ipc::Bytes collect_tracing_command();

}  // namespace farport::bench
