#include "base/limited_read.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

namespace farport {
namespace {

constexpr std::size_t kPart = 16 * 1024;

}  // namespace

std::optional<std::string> read_limited(int fd, std::size_t most) {
  std::string text;
  while (text.size() < most) {
    const std::size_t before = text.size();
    text.resize(std::min(before + kPart, most));
    const ssize_t got = ::read(fd, text.data() + before, text.size() - before);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
  }
  return text;
}

std::optional<std::string> read_limited(const std::string& path, std::size_t most) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return std::nullopt;
  return read_limited(fd.get(), most);
}

}  // namespace farport
