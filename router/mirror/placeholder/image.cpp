#include "router/mirror/placeholder/image.hpp"

#include <cerrno>
#include <cstddef>
#include <span>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.hpp"

// The build's linked program, between two labels. Never written to: the section is read-only.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "farport_placeholder_begin:\n"
    ".incbin \"" FARPORT_PLACEHOLDER_FILE
    "\"\n"
    "farport_placeholder_end:\n"
    ".popsection\n");
extern "C" {
extern const std::byte farport_placeholder_begin[];
extern const std::byte farport_placeholder_end[];
}

namespace farport::router {
namespace {

constexpr char kTried[] = "make the placeholder's program in";
constexpr char kWhere[] = "memory";
/// Name within the mirror's own directory.
constexpr char kFile[] = "/program";
/// MFD_EXEC, which glibc does not define yet: asks for an executable file where vm.memfd_noexec is 1 (Linux
/// 6.3).
constexpr unsigned kMemfdExec = 0x0010;

int create_file() {
  const int file = ::memfd_create(kPlaceholderName, MFD_CLOEXEC | MFD_ALLOW_SEALING | kMemfdExec);
  // An older kernel rejects the unknown flag; its memory files are executable anyway.
  if (file < 0 && errno == EINVAL) return ::memfd_create(kPlaceholderName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return file;
}

Result<void> write_program(const UniqueFd& file) {
  const std::span program(farport_placeholder_begin, farport_placeholder_end);
  const int failed = write_whole(file.get(), program);
  if (failed != 0) return fail_errno(kTried, kWhere, failed);
  return {};
}

/// Creates a file at `path` that holds the program. Returns whether it may be executed.
bool make_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0500));
  return file && write_program(file) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

PlaceholderProgram::~PlaceholderProgram() {
  if (directory_.empty()) return;
  ::unlink(path_.c_str());
  ::rmdir(directory_.c_str());
}

Result<PlaceholderImage> PlaceholderImage::make(const std::string& directory) {
  const bool has_file = !directory.empty() && make_file(directory + kFile);
  UniqueFd file(create_file());
  if (!file && has_file) return PlaceholderImage({}, directory);
  if (!file) {
    return fail_errno(kTried, kWhere, errno, "check that the sysctl vm.memfd_noexec is 0 or 1");
  }
  RETURN_IF_ERROR(write_program(file));
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    return fail_errno(kTried, kWhere, errno);
  }
  return PlaceholderImage(std::move(file), has_file ? directory : std::string());
}

PlaceholderProgram PlaceholderImage::named(const std::string& file_name) {
  if (!directory_.empty()) {
    const std::string own = directory_ + "/" + std::to_string(++number_);
    const std::string path = own + "/" + file_name;
    if (::mkdir(own.c_str(), 0700) == 0) {
      PlaceholderProgram program(path, own);
      if (::link((directory_ + kFile).c_str(), path.c_str()) == 0) return program;
    }
  }
  return {"/proc/self/fd/" + std::to_string(memory_.get()), {}};
}

}  // namespace farport::router
