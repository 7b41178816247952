// DirectoryWatch: tells when the entries of a directory change, by inotify(7) through libuv.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <sys/types.h>

#include "transport/loop.hpp"

namespace farport::transport {

class DirectoryWatch {
 public:
  /// Calls `on_event` from the loop for each change, with the entry's name; null if that is not known. Some
  /// file systems send no events.
  DirectoryWatch(Loop& loop, const std::string& path, std::function<void(const char* name)> on_event);
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  /// Whether it watches the directory that is at this path now.
  [[nodiscard]] bool watches(const std::string& path) const;
  void stop();

 private:
  using Id = std::pair<dev_t, ino_t>;
  static Id id_of(const std::string& path);

  std::function<void(const char*)> on_event_;
  Id id_;
  bool started_ = false;
  OwnedHandle<uv_fs_event_t> handle_;
};

}  // namespace farport::transport
