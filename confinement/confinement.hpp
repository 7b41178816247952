// Confinement: giving up privileges, files, the network and system calls after startup.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "confinement/capabilities.hpp"
#include "confinement/landlock.hpp"
#include "confinement/user.hpp"

namespace farport::confinement {

/// What the process still needs.
struct Needs {
  std::vector<FileRule> files;
  Capabilities capabilities = 0;
  /// Whether it dials over TCP, also by name: it then needs internet sockets and the resolver's files.
  bool dials = false;
  /// Why Landlock must not be used: the feature that it would break. Empty: it may be.
  std::string landlock_conflict{};
};

/// The result, as short texts for people.
struct Confinement {
  std::vector<std::string> in_force;
  std::vector<std::string> missing;  ///< With the reason.
};

/// Keeps the process's memory, which holds keys, out of core dumps and away from other processes of the same
/// user. Programs that it executes are not affected. Call it again after a change of user.
void hide_memory();

/// The same, and sets the limit of core dumps to zero, which executed programs inherit.
void forbid_core_dumps();

/// Confines the calling thread and every thread that it starts later, irrevocably: no new privileges, only
/// the capabilities and files of `needs`, and only the system calls that an agent uses. Does nothing if there
/// are other threads, which would not be confined.
[[nodiscard]] Confinement confine(const Needs& needs);

/// Confines a process that samples others: no new privileges, only the capabilities for sampling (all of its
/// own if it lacks CAP_SYS_PTRACE), and only the system calls for sampling. Steps that the kernel doesn't
/// support are skipped silently.
void confine_sampler();

/// The same for a process that only starts parsers; see confine_parser().
void confine_reader_starter();

/// The same for a process that only reads open files, whose content may be hostile. Returns whether its
/// system calls are now filtered.
bool confine_parser();

/// Confines a process that only starts commands of the operator's, as other users: no new privileges, and
/// only the capabilities for that.
void confine_command_starter();

/// What a command of the operator's may do.
struct CommandRights {
  std::optional<User> user;     ///< Whom it runs as; empty: as now.
  std::vector<FileRule> files;  ///< If empty, the user's rights count alone.
  bool required = false;        ///< Whether it must not run where the kernel has no Landlock.
};
/// Confines a process that is to become such a command, and all that it starts: no new privileges, no
/// capabilities, that user, and where the kernel has Landlock only these files. It may connect to any
/// network. Errors: it can't become the user, the kernel refuses,
/// or has no Landlock.
[[nodiscard]] Result<void> confine_command(const CommandRights& rights);

/// The result that confine() would have, determined in a child process.
[[nodiscard]] Confinement dry_run(const Needs& needs);

/// "no new privileges; system calls filtered; …".
[[nodiscard]] std::string join(const std::vector<std::string>& items);

}  // namespace farport::confinement
