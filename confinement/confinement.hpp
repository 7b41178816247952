// What a process gives up once it has started: privileges, system calls, files and the network.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "confinement/capabilities.hpp"
#include "confinement/landlock.hpp"

namespace farport::confinement {

/// What the process will still need.
struct Needs {
  std::vector<FileRule> files;
  Capabilities capabilities = 0;
  /// Whether it dials over TCP, by name too, which takes sockets of the Internet's and the resolver's files.
  bool dials = false;
  /// Why Landlock can't be had: what must work that it would end. Empty: it may be.
  std::string against_landlock{};
};

/// What came of it, each in a few words for a person.
struct Confinement {
  std::vector<std::string> in_force;
  std::vector<std::string> missing;  ///< With why.
  bool files = false;                ///< Landlock is in force; not known of what is foreseen.
  bool system_calls = false;         ///< So is the filter of system calls.
};

/// Keeps the process's memory, which has keys in it, out of core dumps and from other processes of the same
/// user. A program that is started is free of it. A process that becomes another user has to call it again.
void hide_memory();

/// The same, and sets the limit of core dumps to zero, which programs that are started inherit.
void forbid_core_dumps();

/// Confines the calling thread and every thread that it starts from then on: no new privileges, the
/// capabilities and files of `needs`, the system calls that an agent uses. Where there are other threads
/// already, which would stay as they are, nothing is done. There is no way back.
[[nodiscard]] Confinement confine(const Needs& needs);

/// Confines a process that samples others: no new privileges, of its capabilities those that this takes (all
/// of them where CAP_SYS_PTRACE is not among them), and no system calls but for this. As far as the kernel
/// can: nothing is said where it can't.
void confine_sampler();

/// The same for one that does nothing but start those that only read, below.
void confine_reader_starter();

/// The same for one that only reads what is open, which may be anybody's. Returns whether its system calls
/// are filtered now.
bool confine_parser();

/// What confine() would say, found out by a child process that does it.
[[nodiscard]] Confinement foresee(const Needs& needs);

/// "no new privileges; system calls filtered; …".
[[nodiscard]] std::string join(const std::vector<std::string>& items);

}  // namespace farport::confinement
