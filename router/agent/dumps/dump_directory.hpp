// Where a runtime writes a dump and the agent reads it: a directory that both see, and in it a private one
// for each dump. Others may write to the shared one, and nothing that they put there is trusted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/wire/dump.hpp"
#include "transport/socket.hpp"

namespace farport::router {

/// How dumps are taken, as it is configured.
struct DumpSettings {
  std::string directory;          ///< As the agent sees it; empty: found out for each runtime.
  std::string runtime_directory;  ///< As runtimes see it; empty: at the same path.
  std::uint64_t max_bytes = 0;
  std::uint64_t keep_free_bytes = 0;  ///< Of the file system that a dump is written to.
};

/// A directory that the agent and a runtime share.
struct SharedDirectory {
  UniqueFd fd;
  std::string here;   ///< Its path for the agent.
  std::string there;  ///< Its path for the runtime.
};

/// Finds the shared directory for a runtime: the configured one; where the runtime is in another mount
/// namespace and its /proc/PID/root may be used, its temporary directory, if its user may write there and
/// nothing leads out of it; else the directory of `socket`. A process in another user namespace decides
/// itself what is mounted where: nothing is done in its root. Blocks, for as long as the process likes.
[[nodiscard]] Result<SharedDirectory> find_shared_directory(const DumpSettings& settings,
                                                            const transport::PeerCredentials& process,
                                                            const std::string& socket);

/// A finished dump, open for reading. It has no name any more: nothing is left of it once it is closed.
struct OpenDump {
  UniqueFd fd;
  std::uint64_t size = 0;
};

/// The private directory of one dump. Destroying it removes it with all that is in it.
class DumpDirectory {
 public:
  /// Makes one with an unguessable name, mode 0700, that belongs to the user `owner`.
  [[nodiscard]] static Result<std::unique_ptr<DumpDirectory>> make(SharedDirectory shared, uid_t owner);

  DumpDirectory(SharedDirectory shared, std::string name, UniqueFd fd, uid_t owner);
  DumpDirectory(const DumpDirectory&) = delete;
  DumpDirectory& operator=(const DumpDirectory&) = delete;
  ~DumpDirectory();

  /// The path that the runtime is told to write to.
  [[nodiscard]] std::string path_for_runtime() const;
  /// "/diag at /mnt/diag": where the shared directory is, for the agent and for the runtime.
  [[nodiscard]] std::string described() const { return shared_.here + " at " + shared_.there; }
  /// How much has been written so far, in bytes; 0 before there is a file.
  [[nodiscard]] std::uint64_t written() const;
  /// Gives back what has been written so far, where a process goes on writing that can't be stopped.
  void cut();
  /// What is free in the file system for a user without privileges, in bytes.
  [[nodiscard]] std::uint64_t free_bytes() const;
  /// Opens the dump and takes its name away. Errors: the file is not there, or is not what the runtime's user
  /// alone can have written: a link, another user's, no file.
  [[nodiscard]] Result<OpenDump> open_dump();
  /// Gives the dump a name of its own in the shared directory, where it stays: "NAME-….dmp".
  [[nodiscard]] Result<KeptDump> keep_dump(const std::string& name);

 private:
  [[nodiscard]] Result<OpenDump> check_dump() const;

  SharedDirectory shared_;
  std::string name_;
  UniqueFd fd_;  ///< Locked while this lives.
  uid_t owner_;
};

/// What a dump takes, in bytes.
struct DumpSize {
  std::uint64_t more = 0;     ///< Than there is already.
  std::uint64_t written = 0;  ///< So far.
};

/// Whether there is room in the directory for so much of a dump of `runtime`, and the settings allow it.
/// Errors say how much is free, and what to do.
[[nodiscard]] Result<void> check_space(const DumpDirectory& directory, const DumpSettings& settings,
                                       const std::string& runtime, DumpSize size);

/// Removes what agents that have died left in the directory: private directories of this user's or of
/// `owner`, a runtime's, that nobody holds locked. Returns their paths. Blocks.
[[nodiscard]] std::vector<std::string> remove_abandoned_dumps(const SharedDirectory& shared, uid_t owner);

/// Says what others could do to dumps in the directory, where they may write to it and it has no sticky bit:
/// they could put another directory in a private one's place. Sets the bit where that is ours to do. Empty
/// where nothing is wrong.
[[nodiscard]] std::string warn_of_strangers(const SharedDirectory& shared);

}  // namespace farport::router
