#include "router/agent/runtimes/createdump.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/runtimes/module_paths.hpp"
#include "router/agent/runtimes/process_root.hpp"

namespace farport::router {
namespace {

using State = Createdump::State;
using BeforeFiles = std::function<void(ProcessRoot&)>;

/// The file that CoreCLR keeps compiled methods in, wherever it lies itself.
constexpr std::string_view kCompiledCode = "/memfd:doublemapper";
constexpr const char* kTake = "take a dump of";

/// The bits of a file's mode that let the process execute it (path_resolution(7)).
mode_t executable_bits(const struct stat& file, const ProcessStatus& process) {
  if ((process.capabilities >> CAP_DAC_OVERRIDE & 1U) != 0) return S_IXUSR | S_IXGRP | S_IXOTH;
  if (file.st_uid == process.user) return S_IXUSR;
  const bool in_group =
      file.st_gid == process.group || std::ranges::find(process.groups, file.st_gid) != process.groups.end();
  return in_group ? S_IXGRP : S_IXOTH;
}

/// Whether more than the mode decides who may execute the file that `path` leads to (acl(5)).
bool has_acl(const std::string& path) {
  return ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

/// Why the process can't execute the file by its mode; empty if it can.
std::string refusal_to_execute(int file, const struct stat& status, const ProcessStatus& process) {
  if ((status.st_mode & executable_bits(status, process)) == 0)
    return fmt::format("user {} may not execute it (mode {:04o}, of user {} and group {})", process.user,
                       status.st_mode & 07777, status.st_uid, status.st_gid);
  struct statvfs system {};
  if (::fstatvfs(file, &system) == 0 && (system.f_flag & ST_NOEXEC) != 0)
    return "its file system is mounted noexec";
  return {};
}

UniqueFd open_in(const ProcessRoot& root, const std::string& path) {
  return root.open_beneath(path, O_PATH | O_CLOEXEC, RESOLVE_IN_ROOT);
}

/// Looks where no library of the runtime is mapped.
Createdump find_inside(ProcessRoot& root, std::string_view maps, bool native, const BeforeFiles& before) {
  const bool compiles = maps.find(kCompiledCode) != std::string_view::npos;
  if (!compiles && native) return {State::never, {}, {}};
  if (!compiles) return {State::unknown, {}, "the .NET runtime is not among its libraries"};
  const std::string beside = root.program_directory() + "/libmscordaccore.so";
  before(root);
  // With this beside the program it writes all types.
  if (open_in(root, beside)) return {State::there, {}, {}};
  return {State::inside, {}, {}};
}

Createdump unseen(std::string path, std::string why) {
  return {State::unknown, std::move(path), std::move(why)};
}

/// Looks for it in the root of a process that may be examined.
Createdump find_in(ProcessRoot& root, const ProcessStatus& process, bool native, const BeforeFiles& before) {
  const auto maps = read_memory_map(root);
  if (!maps) return unseen({}, "its memory map can't be read");
  const auto modules = module_paths_in(*maps);
  if (!modules && maps->size() >= kMaxMapBytes) return unseen({}, "its memory map is too long");
  if (!modules) return find_inside(root, *maps, native, before);
  const std::string library = modules->directory + std::string(kRuntimeLibrary);
  const std::string path = modules->directory + "/createdump";
  before(root);
  const UniqueFd program = open_in(root, path);
  if (!program) {
    const int error = errno;
    // Where not even the library is seen, the process sees other files than these.
    const bool sees_its_files = modules->replaced || open_in(root, library);
    if (error != ENOENT || !sees_its_files) return unseen(path, std::generic_category().message(error));
    return {State::missing, path, {}};
  }
  struct stat status {};
  if (::fstat(program.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {State::missing, path, {}};
  std::string why = refusal_to_execute(program.get(), status, process);
  if (!why.empty() && has_acl(root.path_of(program.get(), path)))
    return unseen(path, "an access list decides who may execute it");
  const State state = why.empty() ? State::there : State::not_executable;
  return {state, path, std::move(why)};
}

}  // namespace

Createdump find_createdump(pid_t pid, bool native, const std::function<void(ProcessRoot&)>& before_files) {
  auto root = ProcessRoot::open(pid);
  const auto process = process_status(pid);
  const BeforeFiles before = before_files ? before_files : [](ProcessRoot&) {};
  if (root && process) return find_in(*root, *process, native, before);
  if (!root && root.error().cause == EACCES)
    return {State::unknown,
            {},
            explain_refusal("process " + std::to_string(pid), credentials_of(::getpid()), credentials_of(pid))
                .why};
  return {State::unknown, {}, root ? "it has ended" : root.error().why};
}

std::optional<Error> refusal_of(const Createdump& createdump, const std::string& runtime,
                                ipc::DumpType type) {
  switch (createdump.state) {
    case State::missing:
      return Error{kTake, runtime, "there is no createdump at " + createdump.path,
                   "put it there: it comes with the .NET runtime, of the very same version"};
    case State::not_executable:
      return Error{kTake, runtime, "the runtime can't start " + createdump.path + ": " + createdump.why,
                   "let the application's user execute it"};
    case State::inside:
      if (type == ipc::DumpType::full) return std::nullopt;
      return Error{kTake, runtime, "the runtime is part of the program, and writes full dumps only",
                   "take one of type full"};
    case State::never:
      return Error{kTake, runtime,
                   "it is compiled ahead of time, and such runtimes write no dump when they are told to",
                   "gcore on its host writes a core file; farport profile and stacks show what it does"};
    case State::unknown:
    case State::there:
      break;
  }
  return std::nullopt;
}

}  // namespace farport::router
