// Notices that files may have changed, however that is done: written to, replaced, or through a symbolic link
// on the way.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "transport/loop.hpp"

namespace farport::router {

class FileWatch {
 public:
  /// `on_event` is called from the loop when something has happened in a directory that matters. It may have
  /// been to another file: compare stamps.
  FileWatch(transport::Loop& loop, std::function<void()> on_event);
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;
  ~FileWatch();

  /// Watches what leads to these files now, and nothing else. Call it again after each event, and once in a
  /// while: directories come, go and are replaced, and not every file system notifies.
  void follow(const std::vector<std::string>& paths);

 private:
  class Directory;

  transport::Loop& loop_;
  std::function<void()> on_event_;
  std::map<std::string, std::unique_ptr<Directory>> directories_;  ///< By path.
};

}  // namespace farport::router
