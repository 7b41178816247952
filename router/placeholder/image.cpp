#include "router/placeholder/image.hpp"

#include <cerrno>
#include <cstddef>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

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
/// MFD_EXEC, which glibc does not know yet: asks for an executable file where vm.memfd_noexec is 1
/// (Linux 6.3).
constexpr unsigned kMemfdExec = 0x0010;

int create_file() {
  const int file = ::memfd_create(kPlaceholderName, MFD_CLOEXEC | MFD_ALLOW_SEALING | kMemfdExec);
  // An older kernel refuses a flag that it doesn't know; its files are executable anyway.
  if (file < 0 && errno == EINVAL) return ::memfd_create(kPlaceholderName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return file;
}

}  // namespace

Result<PlaceholderImage> PlaceholderImage::make() {
  transport::UniqueFd file(create_file());
  if (!file) {
    return fail_errno(kTried, kWhere, errno, "check that the sysctl vm.memfd_noexec is 0 or 1");
  }
  const std::byte* next = farport_placeholder_begin;
  while (next != farport_placeholder_end) {
    const ssize_t written =
        ::write(file.get(), next, static_cast<std::size_t>(farport_placeholder_end - next));
    if (written < 0) return fail_errno(kTried, kWhere, errno);
    next += written;
  }
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    return fail_errno(kTried, kWhere, errno);
  }
  return PlaceholderImage(std::move(file));
}

}  // namespace farport::router
