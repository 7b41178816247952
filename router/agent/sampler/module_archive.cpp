#include "router/agent/sampler/module_archive.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/output_file.hpp"
#include "base/resources.hpp"
#include "base/tar.hpp"
#include "router/agent/runtimes/module_paths.hpp"
#include "router/agent/runtimes/process_root.hpp"
#include "router/agent/sampler/sampler_answer.hpp"
#include "router/agent/sampler/user_files.hpp"

namespace farport::router {
namespace {

constexpr std::uint64_t kMemory = std::uint64_t{32} << 20;
constexpr std::size_t kReadSize = std::size_t{128} << 10;
/// More than any application has: the paths are the process's to choose.
constexpr std::size_t kMaxModules = 4096;
constexpr std::uint64_t kMaxModuleBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 30;
/// It explains a runtime's memory to debuggers, and is of the very same build.
constexpr std::string_view kDataAccess = "libmscordaccore.so";
/// The same for debuggers that step.
constexpr std::string_view kDebugging = "libmscordbi.so";

/// A module that may be sent.
struct Module {
  std::string name;
  UniqueFd file;
  std::uint64_t size = 0;
};

/// Where the archive goes. The reader may take its time.
class ArchiveOutput {
 public:
  explicit ArchiveOutput(int fd) : fd_(fd) {}

  /// Returns false if nobody reads it any more.
  bool write(std::span<const std::byte> bytes) {
    // Only reading may take too long.
    ::alarm(0);
    const bool written = write_whole(fd_, bytes) == 0;
    end_if_stuck();
    return written;
  }
  bool write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

 private:
  int fd_;
};

/// Whether the file begins as a library (gABI) or as an assembly (PE/COFF) does: a process must not have just
/// any file called one.
bool begins_as_module(int file) {
  std::array<char, 4> magic{};
  if (::pread(file, magic.data(), magic.size(), 0) != static_cast<ssize_t>(magic.size())) return false;
  const std::string_view found(magic.data(), magic.size());
  return found ==
             "\x7f"
             "ELF" ||
         found.starts_with("MZ");
}

std::optional<Module> open_module(const UserFiles& files, const std::string& path, std::string& why) {
  Module module{std::string(file_of(path)), files.open(path, why)};
  if (!module.file) return std::nullopt;
  struct stat status {};
  const bool fits = ::fstat(module.file.get(), &status) == 0 && status.st_size > 0 &&
                    static_cast<std::uint64_t>(status.st_size) <= kMaxModuleBytes;
  if (!fits || !is_tar_name(module.name) || !begins_as_module(module.file.get())) {
    why = "it is no library";
    return std::nullopt;
  }
  module.size = static_cast<std::uint64_t>(status.st_size);
  return module;
}

/// Sends a module. Returns false if the file is shorter than it was, or if nobody reads the archive any more.
bool send_module(const Module& module, ArchiveOutput& to) {
  const auto header = tar_header(module.name, module.size);
  if (!to.write(std::string_view(header.data(), header.size()))) return false;
  std::vector<std::byte> buffer(kReadSize);
  for (std::uint64_t at = 0; at < module.size;) {
    const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), module.size - at);
    const ssize_t got = ::pread(module.file.get(), buffer.data(), wanted, static_cast<off_t>(at));
    if (got <= 0 || !to.write(std::span(buffer).first(static_cast<std::size_t>(got)))) return false;
    at += static_cast<std::uint64_t>(got);
  }
  return to.write(std::string(tar_padding(module.size), '\0'));
}

/// The process's own files by their paths, those beside its runtime first.
std::vector<std::string> wanted_paths(const ModulePaths& modules, bool all) {
  std::vector<std::string> paths{modules.directory + "/" + std::string(kDebugging)};
  if (all) paths.insert(paths.end(), modules.mapped.begin(), modules.mapped.end());
  return paths;
}

Error no_modules(std::string why, std::string hint = {}) {
  return {"read", "its modules", std::move(why), std::move(hint)};
}

Result<ModulePaths> find_modules(const ProcessRoot& root) {
  const auto maps = read_memory_map(root);
  if (!maps) return tl::unexpected(no_modules("its memory map can't be read"));
  auto found = module_paths_in(*maps);
  // A runtime that is part of the program may have its files beside that.
  if (!found) return ModulePaths{root.program_directory(), false, {}};
  if (found->replaced)
    return tl::unexpected(
        no_modules("its runtime was replaced on the disk since it started",
                   "a debugger needs the files of the version that it has: take them from a copy of that"));
  return std::move(*found);
}

Result<void> send(const ModulesRequest& request, const UniqueFd& process, ArchiveOutput& to) {
  auto root = ProcessRoot::open(request.process);
  if (!root && root.error().cause == EACCES)
    return tl::unexpected(explain_refusal("it", credentials_of(::getpid()), credentials_of(request.process)));
  if (!root) return tl::unexpected(root.error());
  ASSIGN_OR_RETURN(const auto modules, find_modules(*root));
  pollfd ended{process.get(), POLLIN, 0};
  // If it has not ended, all of the above is about this process, and not about a later one with its pid.
  if (::poll(&ended, 1, 0) != 0) return tl::unexpected(no_modules("it has ended"));
  const UserFiles files(*root, request.user);
  const std::string access = modules.directory + "/" + std::string(kDataAccess);
  std::string why;
  const auto first = open_module(files, access, why);
  if (!first) return tl::unexpected(no_modules(access + ": " + why));
  if (!to.write(std::string(1, kSampling)) || !send_module(*first, to)) return {};
  std::set<std::string> sent{first->name};
  std::uint64_t bytes = first->size;
  for (const std::string& path : wanted_paths(modules, request.all)) {
    const auto module = open_module(files, path, why);
    if (!module || sent.size() >= kMaxModules || bytes + module->size > kMaxBytes) continue;
    if (!sent.insert(module->name).second) continue;
    if (!send_module(*module, to)) return {};
    bytes += module->size;
  }
  to.write(std::string(kTarEnd, '\0') + kArchiveIsWhole);
  return {};
}

}  // namespace

void send_modules(const ModulesRequest& request, const UniqueFd& process, const UniqueFd& to) {
  limit_memory(kMemory);
  end_if_stuck();
  ArchiveOutput output(to.get());
  const Result<void> done = send(request, process, output);
  if (!done) output.write(kRefused + done.error().why + '\0' + done.error().hint);
}

}  // namespace farport::router
