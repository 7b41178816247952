#include "router/agent/local_socket.hpp"

#include <cerrno>

#include <unistd.h>

#include "router/sockets/socket_manifest.hpp"

namespace farport::router {
namespace {

constexpr mode_t kOurs = 0600;
constexpr mode_t kForAll = 0666;

}  // namespace

Result<std::unique_ptr<LocalSocket>> LocalSocket::create(transport::Loop& loop, const std::string& path,
                                                         bool for_all) {
  remove_stale_socket(path);
  auto listener = transport::Listener::unix_socket(loop, path, for_all ? kForAll : kOurs);
  if (!listener && listener.error().cause == EADDRINUSE) {
    return fail("listen at", path, "something is there already", "is another farport running there?");
  }
  if (!listener) return tl::unexpected(listener.error());
  return std::make_unique<LocalSocket>(std::move(*listener), path);
}

LocalSocket::LocalSocket(std::unique_ptr<transport::Listener> listener, std::string path)
    : listener_(std::move(listener)), path_(std::move(path)) {
  // If this fails, made_ keeps the inode 0, which no file has, and nothing is removed later.
  std::ignore = ::lstat(path_.c_str(), &made_);
}

LocalSocket::~LocalSocket() {
  struct stat now {};
  const bool same =
      ::lstat(path_.c_str(), &now) == 0 && now.st_dev == made_.st_dev && now.st_ino == made_.st_ino;
  if (same) ::unlink(path_.c_str());
}

}  // namespace farport::router
