#include "router/certificates/file_watch.hpp"

#include <set>

#include <sys/stat.h>

#include "auth/tls_credentials.hpp"

namespace farport::router {
namespace {

/// Which directory it is that has a path. One that was replaced has other files.
struct DirectoryId {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const DirectoryId&) const = default;
};

DirectoryId id_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

}  // namespace

/// inotify through libuv.
class FileWatch::Directory {
 public:
  Directory(FileWatch& owner, const std::string& path) : owner_(owner), id_(id_of(path)) {
    auto* handle = new uv_fs_event_t;
    uv_fs_event_init(owner.loop_.uv(), handle);
    handle->data = this;
    handle_.reset(handle);
    started_ = uv_fs_event_start(
                   handle,
                   [](uv_fs_event_t* changed, const char*, int, int) {
                     static_cast<Directory*>(changed->data)->owner_.on_event_();
                   },
                   path.c_str(), 0) == 0;
  }
  [[nodiscard]] bool watches(const std::string& path) const { return started_ && id_ == id_of(path); }

 private:
  FileWatch& owner_;
  DirectoryId id_;
  bool started_ = false;
  transport::OwnedHandle<uv_fs_event_t> handle_;
};

FileWatch::FileWatch(transport::Loop& loop, std::function<void()> on_event)
    : loop_(loop), on_event_(std::move(on_event)) {}

FileWatch::~FileWatch() = default;

void FileWatch::follow(const std::vector<std::string>& paths) {
  std::set<std::string> wanted;
  for (const std::string& path : paths) wanted.merge(auth::directories_leading_to(path));
  std::erase_if(directories_, [&](const auto& entry) {
    return !wanted.contains(entry.first) || !entry.second->watches(entry.first);
  });
  for (const std::string& path : wanted) {
    if (!directories_.contains(path)) directories_.emplace(path, std::make_unique<Directory>(*this, path));
  }
}

}  // namespace farport::router
