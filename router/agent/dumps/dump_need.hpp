// DumpNeed: what a dump takes where the application runs, known before it is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/process_stat.hpp"
#include "ipc/payload.hpp"

namespace farport::router {

/// Whether reading a page that its process has never used takes memory on this kernel. Most kernels show one
/// page of zeros for all of these, and take none; some huge pages and sandboxes don't. This is tried once, in
/// this process; true if it can't be. A process that confines itself must ask before.
[[nodiscard]] bool reading_takes_memory();

/// What is known of a process before it is dumped.
struct DumpedProcess {
  ProcessStatus status{};
  int version = 0;                   ///< The first number of its runtime's version; 0 if unknown.
  bool reading_takes_memory = true;  ///< The same as the function of this name returns.
};

/// Looks at a process whose runtime has this version ("10.0.1"). Nothing if it is not visible here.
[[nodiscard]] std::optional<DumpedProcess> look_before_dump(pid_t pid, std::string_view version);

/// What a dump takes, in bytes.
struct DumpNeed {
  /// Of the application's memory: for createdump itself, and for what it brings in. It reads all that the
  /// process may write to, such as the whole stack of each thread.
  std::uint64_t memory = 0;
  std::uint64_t brought_in = 0;  ///< What of that is pages of the process, which stay there.
  std::uint64_t file = 0;        ///< The likely size of the file.
};

[[nodiscard]] DumpNeed dump_need(const DumpedProcess& process, ipc::DumpType type);

/// The memory that an application can still get, in bytes; nothing where that is not limited or not known.
struct MemoryLeft {
  std::optional<std::uint64_t> in_group{};
  std::optional<std::uint64_t> on_host{};
};

/// Checks that an application of this name lives through its dump. `into_memory`: the place of the dump if
/// that takes memory as well, else empty. Errors say what is missing, and what fits.
[[nodiscard]] Result<void> check_memory(const MemoryLeft& left, const std::string& runtime,
                                        const DumpedProcess& process, ipc::DumpType type,
                                        const std::string& into_memory);

}  // namespace farport::router
