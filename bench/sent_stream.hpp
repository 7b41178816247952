// What a session streams, to compare with what comes of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ipc/message.hpp"

namespace farport::bench {

class SentStream {
 public:
  /// What a fake runtime streams: `file` is its --stream-file, or empty. Throws std::runtime_error.
  explicit SentStream(const std::string& file);

  /// Looks at each byte of `got`, which the stream has at `place`. Throws std::runtime_error if one differs.
  void check(std::span<const std::byte> got, std::uint64_t place) const;

 private:
  ipc::Bytes block_;  ///< Sent over and over.
};

}  // namespace farport::bench
