#include "router/discovery.hpp"

#include <cerrno>
#include <set>
#include <unordered_set>

#include "router/directory.hpp"
#include "router/local_files.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

constexpr std::string_view kPrefix = "dotnet-diagnostic-";
constexpr std::string_view kSuffix = "-socket";

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string file_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

bool is_default_port_name(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return false;
  if (name.size() < kPrefix.size() + kSuffix.size()) return false;
  const std::string_view middle = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  const std::size_t dash = middle.find('-');
  return dash != std::string_view::npos && all_digits(middle.substr(0, dash)) &&
         all_digits(middle.substr(dash + 1));
}

/// inotify through libuv. Only files that may be diagnostic ports count: /tmp is a busy place.
class Discovery::DirectoryWatch {
 public:
  DirectoryWatch(Discovery& owner, const std::string& directory, std::set<std::string> names)
      : owner_(owner), names_(std::move(names)) {
    auto* handle = new uv_fs_event_t;
    uv_fs_event_init(owner.loop_.uv(), handle);
    handle->data = this;
    handle_.reset(handle);
    started_ = uv_fs_event_start(handle, on_event, directory.c_str(), 0) == 0;
  }
  [[nodiscard]] bool started() const { return started_; }

 private:
  static void on_event(uv_fs_event_t* handle, const char* name, int, int status) {
    auto* self = static_cast<DirectoryWatch*>(handle->data);
    if (status == 0 && name != nullptr && !is_default_port_name(name) && !self->names_.contains(name)) return;
    self->owner_.changed_.set();
  }

  Discovery& owner_;
  std::set<std::string> names_;
  bool started_ = false;
  transport::OwnedHandle<uv_fs_event_t> handle_;
};

struct Discovery::Followed {
  Followed(SocketFile socket, std::unique_ptr<DiagnosticPort> follows)
      : file(socket), port(std::move(follows)), task(port->follow()) {}

  SocketFile file;
  std::unique_ptr<DiagnosticPort> port;
  transport::Task<void> task;
};

Discovery::Discovery(transport::Loop& loop, Registry& registry, Log log, DiscoverySettings settings)
    : loop_(loop),
      registry_(registry),
      log_(std::move(log)),
      settings_(std::move(settings)),
      changed_(loop) {}

Discovery::~Discovery() = default;

transport::Task<void> Discovery::run() {
  for (;;) {
    watch_directories();
    scan();
    const transport::Deadline rescan(loop_, settings_.rescan, [this] {
      hidden_.look(log_);
      changed_.set();
    });
    co_await changed_.wait();
  }
}

void Discovery::watch_directories() {
  std::map<std::string, std::set<std::string>> wanted;
  for (const std::string& directory : settings_.search) wanted[directory];
  for (const NamedPort& port : settings_.named) wanted[directory_of(port.path)].insert(file_of(port.path));
  for (const auto& [directory, names] : wanted) {
    if (watches_.contains(directory)) continue;
    auto watch = std::make_unique<DirectoryWatch>(*this, directory, names);
    // A directory that isn't there yet, or a file system that doesn't notify: the rescan sees to it.
    if (watch->started()) watches_.emplace(directory, std::move(watch));
  }
}

void Discovery::scan() {
  // In this order: one that is named and also found keeps its name.
  std::vector<Found> found;
  for (const NamedPort& port : settings_.named) found.push_back({port.path, port.name});
  for (const std::string& directory : settings_.search) {
    if (!scan_directory(directory, found)) return;
  }
  std::unordered_set<std::string> present;
  std::erase_if(found, [&](const Found& each) { return !present.insert(each.path).second; });
  std::erase_if(followed_, [&](const auto& entry) { return !present.contains(entry.first); });
  for (const Found& each : found) follow(each);
}

bool Discovery::scan_directory(const std::string& directory, std::vector<Found>& found) {
  const OpenDirectory entries(::opendir(directory.c_str()));
  if (entries == nullptr) {
    const int error = errno;
    report_once(directory, fail_errno("search the directory", directory, error).value().message());
    // We could not look: that says nothing about what is there.
    if (error == EMFILE || error == ENFILE || error == ENOMEM) return false;
    watches_.erase(directory);
    return true;
  }
  reported_.erase(directory);
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (!is_default_port_name(name)) continue;
    found.push_back({directory + "/" + std::string(name), {}, entry->d_ino});
  }
  return true;
}

void Discovery::follow(const Found& found) {
  const auto known = followed_.find(found.path);
  // Most are as they were: there may be a thousand.
  if (known != followed_.end() && found.inode == known->second->file.inode) return;
  const Result<SocketFile> file = inspect_socket(found.path);
  if (!file) {
    if (known != followed_.end()) followed_.erase(known);
    if (file.error().code != ENOENT) report_once(found.path, file.error().message());
    return;
  }
  if (known != followed_.end()) {
    if (known->second->file == *file) return;
    followed_.erase(known);
  }
  // An agent that offered a mirror's sockets again could mirror itself.
  if (is_made_by_mirror(found.path, file->owner)) return;
  auto port =
      std::make_unique<DiagnosticPort>(loop_, registry_, log_, found.path, found.name, settings_.rescan);
  auto& followed = followed_[found.path];
  followed = std::make_unique<Followed>(*file, std::move(port));
  followed->task.start();
}

void Discovery::report_once(const std::string& about, const std::string& message) {
  std::string& last = reported_[about];
  if (last == message) return;
  last = message;
  log_->warn("{}", message);
}

}  // namespace farport::router
