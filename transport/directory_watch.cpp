#include "transport/directory_watch.hpp"

#include <sys/stat.h>

namespace farport::transport {

DirectoryWatch::Id DirectoryWatch::id_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? Id(status.st_dev, status.st_ino) : Id();
}

DirectoryWatch::DirectoryWatch(Loop& loop, const std::string& path,
                               std::function<void(const char* name)> on_event)
    : on_event_(std::move(on_event)), id_(id_of(path)) {
  auto* handle = new uv_fs_event_t;
  uv_fs_event_init(loop.uv(), handle);
  handle->data = this;
  handle_.reset(handle);
  const uv_fs_event_cb report = [](uv_fs_event_t* changed, const char* name, int, int status) {
    static_cast<DirectoryWatch*>(changed->data)->on_event_(status == 0 ? name : nullptr);
  };
  started_ = uv_fs_event_start(handle, report, path.c_str(), 0) == 0;
}

bool DirectoryWatch::watches(const std::string& path) const {
  return started_ && id_ == id_of(path);
}

void DirectoryWatch::stop() {
  uv_fs_event_stop(handle_.get());
  started_ = false;
}

}  // namespace farport::transport
