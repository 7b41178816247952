// Fuzzes the manifest that a mirror may have left in a socket directory: whatever it lists, the next mirror
// removes sockets that nobody listens on, and nothing else. In an input an @ stands for the directory.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>

#include "router/sockets/socket_manifest.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport;
using namespace farport::router;
using farport::fuzz::require;

namespace {

namespace fs = std::filesystem;

UniqueFd listening_socket(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  require(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
              ::listen(fd.get(), 16) == 0,
          "a socket can be made");
  return fd;
}

/// A directory with one thing of each kind in it, and another mirror's living manifest.
class Directory {
 public:
  Directory() {
    std::string path =
        fs::is_directory("/dev/shm") ? "/dev/shm/farport-fuzz-XXXXXX" : "/tmp/farport-fuzz-XXXXXX";
    require(::mkdtemp(path.data()) != nullptr, "a directory can be made");
    path_ = path;
    std::ofstream(path_ + "/file") << "mine";
    fs::create_directory(path_ + "/directory");
    fs::create_symlink("file", path_ + "/link");
    live_ = listening_socket(path_ + "/live");
    fs::create_symlink("live", path_ + "/link-to-live");
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  void leave(std::string_view manifest) const {
    // Closed at once, so that nobody listens there any more.
    if (!fs::exists(path_ + "/stale")) listening_socket(path_ + "/stale");
    std::ofstream file(path_ + "/.farport-mirror-1-0", std::ios::binary);
    for (const char c : manifest) {
      if (c == '@') file << path_;
      if (c != '@') file << c;
    }
  }
  void check() {
    for (const auto* name : {"/file", "/directory", "/link", "/live", "/link-to-live"})
      require(fs::exists(fs::symlink_status(path_ + name)), "only what nobody listens on is removed");
    // Connections that only asked whether the socket is live.
    while (UniqueFd(::accept(live_.get(), nullptr, nullptr))) continue;
  }

 private:
  std::string path_;
  UniqueFd live_;
};

std::size_t entries_of(const std::string& path) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Directory directory;
  static const Log log = make_silent_log();
  directory.leave({reinterpret_cast<const char*>(data), size});
  {
    const auto files = SocketManifest::claim(directory.path(), log);
    require(files.has_value(), "a directory with whatever manifest can be used");
    require(!fs::exists(directory.path() + "/.farport-mirror-1-0"), "a dead mirror's manifest goes");
    directory.check();
  }
  require(entries_of(directory.path()) - (fs::exists(directory.path() + "/stale") ? 1 : 0) == 5,
          "a mirror leaves nothing");
  return 0;
}
