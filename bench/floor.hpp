// The least that carrying a stream encrypted can cost.
#pragma once

#include <string>

#include "load.hpp"

namespace farport::bench {

struct Floor {
  Throughput stream;
  double cpu_seconds = 0;  ///< Of the one process that reads, encrypts and writes.
};

/// Reads a session's stream from a Unix socket, encrypts it with AES-128-GCM in pieces as large as a TLS
/// record (RFC 8446 section 5.1) and writes it to TCP on loopback, where another process takes it: nothing
/// else.
[[nodiscard]] Floor run_floor(const std::string& path, Seconds duration);

}  // namespace farport::bench
