// Where a runtime writes a dump and the agent reads it: a shared directory, and in it a private one for each
// dump.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/wire/dump.hpp"
#include "transport/socket.hpp"

namespace farport::router {

/// How dumps are taken, as configured.
struct DumpSettings {
  std::string directory;          ///< As the agent sees it; if empty, it is found for each runtime.
  std::string runtime_directory;  ///< As runtimes see it; if empty, it is the same path.
  std::uint64_t max_bytes = 0;
  std::uint64_t keep_free_bytes = 0;  ///< To leave free in the dump's file system.
};

/// A directory that the agent and a runtime share. Others may write to it, so nothing in it is trusted.
struct SharedDirectory {
  UniqueFd fd;
  std::string here;   ///< Its path for the agent.
  std::string there;  ///< Its path for the runtime.
};

/// Finds the directory that the agent shares with a runtime. That is the configured one, if any. Otherwise it
/// is the runtime's temporary directory under /proc/PID/root, if the runtime is in another mount namespace
/// and its user may write there. Otherwise it is the directory of `socket`. A process in another user
/// namespace decides what is mounted in its root, so that root is never used. Blocks, for as long as the
/// process likes.
[[nodiscard]] Result<SharedDirectory> find_shared_directory(const DumpSettings& settings,
                                                            const transport::PeerCredentials& process,
                                                            const std::string& socket);

/// A finished dump, open for reading. It has no name any more, so it is gone once it is closed.
struct OpenDump {
  UniqueFd fd;
  std::uint64_t size = 0;
};

/// A pipe through which a dump comes while it is being written.
struct DumpPipe {
  UniqueFd reading;      ///< Non-blocking, like the others.
  UniqueFd for_another;  ///< The same, opened once more for another process.
  UniqueFd held;         ///< For writing: as long as it is open, the dump does not seem to end.
};

/// The private directory of one dump. Its destructor removes it with the dump.
class DumpDirectory {
 public:
  /// Makes a directory with an unguessable name and mode 0700, and gives it to the user `owner`.
  [[nodiscard]] static Result<std::unique_ptr<DumpDirectory>> make(SharedDirectory shared, uid_t owner);

  DumpDirectory(SharedDirectory shared, std::string name, UniqueFd fd, uid_t owner);
  DumpDirectory(const DumpDirectory&) = delete;
  DumpDirectory& operator=(const DumpDirectory&) = delete;
  ~DumpDirectory();

  /// The path that the runtime is told to write to.
  [[nodiscard]] std::string path_for_runtime() const;
  /// Where the shared directory is, for the agent and for the runtime: "/diag at /mnt/diag".
  [[nodiscard]] std::string described() const { return shared_.here + " at " + shared_.there; }
  /// The bytes written so far; 0 before there is a file.
  [[nodiscard]] std::uint64_t written() const;
  /// Truncates the dump, to free its space while a process that can't be stopped goes on writing.
  void cut();
  /// The free bytes of the file system, for a user without privileges.
  [[nodiscard]] std::uint64_t free_bytes() const;
  /// Whether what is written there takes the writer's memory.
  [[nodiscard]] bool is_in_memory() const;
  /// Has the runtime write its dump into a pipe: it stops whenever that is full, and its writer fails once
  /// `reading` is closed. Errors: the system's, or another process interferes.
  [[nodiscard]] Result<DumpPipe> make_pipe();
  /// Opens the dump and removes its name. Errors: there is no dump, or it is not a plain file with one name
  /// that belongs to the runtime's user.
  [[nodiscard]] Result<OpenDump> open_dump();
  /// Moves the dump into the shared directory under a name of its own, "NAME-….dmp", where it stays.
  [[nodiscard]] Result<KeptDump> keep_dump(const std::string& name);

 private:
  [[nodiscard]] Result<OpenDump> check_dump() const;

  SharedDirectory shared_;
  std::string name_;
  UniqueFd fd_;  ///< Locked while this object lives.
  uid_t owner_;
};

/// The size of a dump, in bytes.
struct DumpSize {
  std::uint64_t more = 0;     ///< What it may still need.
  std::uint64_t written = 0;  ///< What it has so far.
};

/// Checks that the settings allow a dump of `runtime` of so many bytes. Errors say what to do.
[[nodiscard]] Result<void> check_limit(const DumpSettings& settings, const std::string& runtime,
                                       std::uint64_t bytes);

/// Checks that the directory has room for a dump of `runtime`, and that the settings allow one of this size.
/// Errors say how much is free, and what to do.
[[nodiscard]] Result<void> check_space(const DumpDirectory& directory, const DumpSettings& settings,
                                       const std::string& runtime, DumpSize size);

/// Removes what dead agents have left in the directory: private directories that belong to this user or to
/// `owner`, a runtime's, and that nobody has locked. Returns their paths. Blocks.
[[nodiscard]] std::vector<std::string> remove_abandoned_dumps(const SharedDirectory& shared, uid_t owner);

/// A warning if others may write to the directory and it has no sticky bit: they could replace a private
/// directory with one of theirs. Sets the bit if this process may. Empty if nothing is wrong.
[[nodiscard]] std::string ensure_sticky_bit(const SharedDirectory& shared);

}  // namespace farport::router
