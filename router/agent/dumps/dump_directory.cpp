#include "router/agent/dumps/dump_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string_view>
#include <tuple>

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "base/text.hpp"
#include "router/agent/runtimes/process_root.hpp"

namespace farport::router {
namespace {

constexpr std::string_view kDirectoryPrefix = ".farport-dump-";
/// The prefix until the directory is locked, so that nobody takes it for abandoned.
constexpr std::string_view kNewPrefix = ".farport-new-";
/// In seconds. Making a directory takes far less, so an older one was left by an agent that was killed.
constexpr std::time_t kLongestMaking = 60;
constexpr const char* kDump = "dump";
/// How much of the runtime's name goes into a file name, which may have 255 bytes in all.
constexpr std::size_t kLongestNamePart = 100;
/// The most files of one dump. A runtime writes two: the dump and its log.
constexpr std::size_t kMaxFiles = 64;
/// Others may have made any number.
constexpr std::size_t kMaxAbandoned = 1024;
/// Twice the longest variable with which a program can be started (execve(2)).
constexpr std::size_t kMaxEnvironFile = 256 * 1024;
constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/// Whether nobody but its owner may enter the directory. A new directory inherits its parent's setgid bit,
/// which the kubelet sets on volumes of pods with an fsGroup. That bit lets nobody in.
bool is_private(const struct stat& status) {
  return (status.st_mode & 07777 & ~S_ISGID) == S_IRWXU;
}

/// If it is a pipe, lets whoever waits for a reader open it. Writing fails once the result is closed. Close
/// that when the pipe has no name any more, so that nobody can begin to wait.
UniqueFd release_writer(int directory, const std::string& pipe) {
  struct stat status {};
  if (::fstatat(directory, pipe.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISFIFO(status.st_mode))
    return {};
  return UniqueFd(::openat(directory, pipe.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
}

/// Removes a private directory and the files that runtimes write in it. If it holds anything else, that and
/// the directory stay.
void remove_private(int parent, int directory, const std::string& name) {
  for (const std::string& entry : entries_of(directory, kDump, kMaxFiles)) {
    const UniqueFd released = release_writer(directory, entry);
    if (::unlinkat(directory, entry.c_str(), 0) != 0) ::unlinkat(directory, entry.c_str(), AT_REMOVEDIR);
  }
  ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

std::string root_of(pid_t pid) {
  return directory_of_process(pid) + "/root";
}

/// TMPDIR of a process, or /tmp, without the leading slash.
std::string temporary_directory_of(int process) {
  const UniqueFd file(::openat(process, "environ", O_RDONLY | O_CLOEXEC));
  const std::string environment =
      '\0' + (file ? read_limited(file.get(), kMaxEnvironFile).value_or("") : "") + '\0';
  const std::string wanted = std::string(1, '\0') + "TMPDIR=/";
  const std::size_t at = environment.find(wanted);
  if (at == std::string::npos) return "tmp";
  const std::size_t start = environment.find_first_not_of('/', at + wanted.size());
  const std::string path = environment.substr(start, environment.find('\0', start) - start);
  return path.empty() ? "." : path;
}

/// Whether a process of this user and group may create files in the directory.
bool may_write(int directory, const transport::PeerCredentials& process) {
  struct stat status {};
  if (::fstat(directory, &status) != 0) return false;
  if (process.uid == 0) return true;
  if (status.st_uid == process.uid) return (status.st_mode & S_IWUSR) != 0;
  if (status.st_gid == process.gid) return (status.st_mode & S_IWGRP) != 0;
  return (status.st_mode & S_IWOTH) != 0;
}

std::optional<SharedDirectory> directory_in_root_of(const transport::PeerCredentials& process) {
  if (process.pid <= 0) return std::nullopt;
  const auto root = ProcessRoot::open(process.pid);
  if (!root || root->shares("mnt") != false) return std::nullopt;
  // Check this after opening the root: a process can't come back from another user namespace. In such a
  // namespace any user may mount a directory that only root may write to where this looks for a temporary
  // one.
  if (root->shares("user") != true) return std::nullopt;
  const std::string temporary = temporary_directory_of(root->process());
  SharedDirectory shared;
  shared.there = "/" + temporary;
  shared.here = root_of(process.pid) + shared.there;
  // Follow no links either, since others have made those in that root.
  shared.fd = root->open_beneath(temporary, kOpenDirectory, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
  if (!shared.fd || !may_write(shared.fd.get(), process)) return std::nullopt;
  return shared;
}

/// Opens a private directory itself, not what is mounted over it nor a link in its place.
UniqueFd open_private(int parent, const std::string& name) {
  open_how how{};
  how.flags = kOpenDirectory | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, parent, name.c_str(), &how, sizeof how)));
}

}  // namespace

Result<SharedDirectory> find_shared_directory(const DumpSettings& settings,
                                              const transport::PeerCredentials& process,
                                              const std::string& socket) {
  SharedDirectory shared;
  if (settings.directory.empty()) {
    if (auto other = directory_in_root_of(process)) return std::move(*other);
    if (socket.starts_with(root_of(process.pid) + "/")) {
      return fail("use the dump directory", directory_of(socket),
                  "it is the runtime's own, whose user may not write there, or decides what is mounted there",
                  "set [dump] directory to one that the agent and the runtime share");
    }
    shared.here = shared.there = directory_of(socket);
  } else {
    shared.here = settings.directory;
    shared.there = settings.runtime_directory.empty() ? settings.directory : settings.runtime_directory;
  }
  shared.fd = UniqueFd(::open(shared.here.c_str(), kOpenDirectory));
  if (!shared.fd) {
    return fail_errno("use the dump directory", shared.here, errno,
                      "set [dump] directory to one that the agent and the runtime share");
  }
  return shared;
}

Result<std::unique_ptr<DumpDirectory>> DumpDirectory::make(SharedDirectory shared, uid_t owner) {
  const std::string token = random_token();
  const std::string begun = std::string(kNewPrefix) + token;
  if (::mkdirat(shared.fd.get(), begun.c_str(), S_IRWXU) != 0) {
    return fail_errno("make a directory for the dump in", shared.here, errno,
                      "set [dump] directory to one that the agent may write to");
  }
  // An abandoned directory is one that has this prefix and that nobody has locked.
  const std::string name = std::string(kDirectoryPrefix) + token;
  UniqueFd fd = open_private(shared.fd.get(), begun);
  struct stat status {};
  const bool ours = fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(fd.get(), &status) == 0 &&
                    status.st_uid == ::geteuid() && is_private(status) &&
                    ::renameat(shared.fd.get(), begun.c_str(), shared.fd.get(), name.c_str()) == 0;
  const std::string path = shared.here + "/" + name;
  if (!ours) {
    ::unlinkat(shared.fd.get(), begun.c_str(), AT_REMOVEDIR);
    return fail("make a directory for the dump in", path, "another process interferes with it");
  }
  auto directory = std::make_unique<DumpDirectory>(std::move(shared), name, std::move(fd), owner);
  if (owner != ::geteuid() && ::fchown(directory->fd_.get(), owner, static_cast<gid_t>(-1)) != 0) {
    return fail_errno("give the dump's directory to user " + std::to_string(owner), path, errno);
  }
  return directory;
}

DumpDirectory::DumpDirectory(SharedDirectory shared, std::string name, UniqueFd fd, uid_t owner)
    : shared_(std::move(shared)), name_(std::move(name)), fd_(std::move(fd)), owner_(owner) {}

DumpDirectory::~DumpDirectory() {
  remove_private(shared_.fd.get(), fd_.get(), name_);
}

std::string DumpDirectory::path_for_runtime() const {
  return shared_.there + "/" + name_ + "/" + kDump;
}

std::uint64_t DumpDirectory::written() const {
  struct stat status {};
  if (::fstatat(fd_.get(), kDump, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

Result<DumpPipe> DumpDirectory::make_pipe() {
  constexpr const char* kMake = "make a pipe for the dump in";
  const std::string path = shared_.here + "/" + name_;
  if (::mkfifoat(fd_.get(), kDump, S_IRUSR | S_IWUSR) != 0) return fail_errno(kMake, path, errno);
  constexpr int kOpen = O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
  DumpPipe pipe;
  pipe.reading = UniqueFd(::openat(fd_.get(), kDump, O_RDONLY | kOpen));
  pipe.for_another = UniqueFd(::openat(fd_.get(), kDump, O_RDONLY | kOpen));
  if (!pipe.reading || !pipe.for_another) return fail_errno(kMake, path, errno);
  pipe.held = UniqueFd(::openat(fd_.get(), kDump, O_WRONLY | kOpen));
  if (!pipe.held) return fail_errno(kMake, path, errno);
  // The directory belongs to the runtime's user, who may have put something else there.
  struct stat reading {};
  struct stat held {};
  const bool ours = ::fstat(pipe.reading.get(), &reading) == 0 && ::fstat(pipe.held.get(), &held) == 0 &&
                    S_ISFIFO(reading.st_mode) && reading.st_uid == ::geteuid() && reading.st_nlink == 1 &&
                    reading.st_dev == held.st_dev && reading.st_ino == held.st_ino;
  if (!ours) return fail(kMake, path, "another process interferes with it");
  if (owner_ != ::geteuid() && ::fchown(pipe.reading.get(), owner_, static_cast<gid_t>(-1)) != 0)
    return fail_errno("give the dump's pipe to user " + std::to_string(owner_), path, errno);
  return pipe;
}

void DumpDirectory::cut() {
  const UniqueFd file(::openat(fd_.get(), kDump, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  const bool theirs = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                      status.st_uid == owner_ && status.st_nlink == 1;
  if (theirs) std::ignore = ::ftruncate(file.get(), 0);
}

std::uint64_t DumpDirectory::free_bytes() const {
  struct statvfs status {};
  if (::fstatvfs(fd_.get(), &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

bool DumpDirectory::is_in_memory() const {
  struct statfs status {};
  return ::fstatfs(fd_.get(), &status) == 0 && (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

Result<OpenDump> DumpDirectory::check_dump() const {
  const std::string path = shared_.here + "/" + name_ + "/" + kDump;
  OpenDump dump;
  dump.fd = UniqueFd(::openat(fd_.get(), kDump, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!dump.fd) {
    const int error = errno;
    if (error == ELOOP) return fail("read the dump", path, "a link has been put in its place");
    return fail_errno("read the dump", path, error, "does the runtime see " + described() + "?");
  }
  struct stat status {};
  if (::fstat(dump.fd.get(), &status) != 0) return fail_errno("read the dump", path, errno);
  if (!S_ISREG(status.st_mode) || status.st_uid != owner_ || status.st_nlink != 1) {
    return fail("read the dump", path,
                "it is not a file that user " + std::to_string(owner_) + " alone has made");
  }
  dump.size = static_cast<std::uint64_t>(status.st_size);
  return dump;
}

Result<OpenDump> DumpDirectory::open_dump() {
  auto dump = check_dump();
  if (dump) ::unlinkat(fd_.get(), kDump, 0);
  return dump;
}

Result<KeptDump> DumpDirectory::keep_dump(const std::string& name) {
  ASSIGN_OR_RETURN(const auto dump, check_dump());
  // Keep only safe characters, since the name comes from the runtime.
  std::string safe;
  for (const char c : name.substr(0, kLongestNamePart)) safe += is_letter_or_digit(c) || c == '-' ? c : '_';
  const std::string file = fmt::format("{}-{}-{}.dmp", safe, std::time(nullptr), random_token().substr(0, 8));
  if (::renameat2(fd_.get(), kDump, shared_.fd.get(), file.c_str(), RENAME_NOREPLACE) != 0) {
    return fail_errno("keep the dump in", shared_.here, errno);
  }
  return KeptDump{shared_.here + "/" + file, shared_.there + "/" + file, dump.size};
}

Result<void> check_space(const DumpDirectory& directory, const DumpSettings& settings,
                         const std::string& runtime, DumpSize size) {
  const std::uint64_t free = directory.free_bytes();
  const std::uint64_t keep = settings.keep_free_bytes;
  if (free < keep || free - keep < size.more) {
    return fail("take a dump of", runtime,
                "there is too little space in " + directory.path_for_runtime() + ": " + mebibytes(free) +
                    " are free, the dump may take " + mebibytes(size.more) + ", and " + mebibytes(keep) +
                    " are to stay free",
                "set [dump] directory to a larger file system");
  }
  return check_limit(settings, runtime, std::max(size.more, size.written));
}

Result<void> check_limit(const DumpSettings& settings, const std::string& runtime, std::uint64_t bytes) {
  if (bytes <= settings.max_bytes) return {};
  return fail("take a dump of", runtime,
              "it would be larger than the limit of " + mebibytes(settings.max_bytes),
              "take a smaller --type, or raise [dump] max_size");
}

std::string ensure_sticky_bit(const SharedDirectory& shared) {
  struct stat status {};
  if (::fstat(shared.fd.get(), &status) != 0) return {};
  const bool open_to_others = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0;
  if (!open_to_others || ::fchmod(shared.fd.get(), (status.st_mode & 07777) | S_ISVTX) == 0) return {};
  return "others may write to " + shared.here +
         ", and it has no sticky bit: they could have dumps written to files of theirs; chmod +t it, or set "
         "[dump] "
         "directory to one of the runtime's user";
}

std::vector<std::string> remove_abandoned_dumps(const SharedDirectory& shared, uid_t owner) {
  std::vector<std::string> removed;
  std::vector<std::string> names = entries_of(shared.fd.get(), kDirectoryPrefix, kMaxAbandoned);
  for (std::string& name : entries_of(shared.fd.get(), kNewPrefix, kMaxAbandoned)) {
    names.push_back(std::move(name));
  }
  for (const std::string& name : names) {
    const UniqueFd fd = open_private(shared.fd.get(), name);
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !is_private(status)) continue;
    if (status.st_uid != ::geteuid() && status.st_uid != owner) continue;
    if (name.starts_with(kNewPrefix) && std::time(nullptr) - status.st_mtime < kLongestMaking) continue;
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
    remove_private(shared.fd.get(), fd.get(), name);
    removed.push_back(shared.here + "/" + name);
  }
  return removed;
}

}  // namespace farport::router
