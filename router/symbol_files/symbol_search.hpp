// SymbolSearch: finds the names that a remote process's own files lack, in directories, a cache, and on
// servers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/symbols/file_symbols.hpp"
#include "router/wire/samples.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"

namespace farport::router {

// Modules: the files of a remote process, and where files with their symbols are found. Pure.

/// A program or library, identified by its build id. Both members are safe as parts of a path.
struct Module {
  std::string name;      ///< Without its directory: "libcoreclr.so".
  std::string build_id;  ///< In lower-case hexadecimal.
};

/// The name of a file, without its directory, and without the kernel's mark for a deleted file.
[[nodiscard]] std::string module_name(std::string_view path);

/// The module of a mapping. Nothing if the name or the build id is missing or invalid, since an agent may say
/// anything.
[[nodiscard]] std::optional<Module> module_at(const SampledMapping& mapping);

/// The paths in a directory at which its symbols may be; files with the most names come first. They are by
/// build id as in gdb (Debugging with GDB, "Debugging Information in Separate Files"), by key, or by name.
[[nodiscard]] std::vector<std::string> places_in(const std::string& directory, const Module& module);

/// The paths of its symbols on a server, to be appended to the server's URL: ELF-buildid-sym and ELF-buildid
/// of the «SSQP Key Conventions» (dotnet/symstore), and debuginfod's (debuginfod(8), "WEBAPI").
[[nodiscard]] std::vector<std::string> server_paths(const Module& module);

/// What symbol servers have sent: files in a directory of this user's, named by their build ids.
class SymbolCache {
 public:
  /// A file on its way into the cache. Its destructor removes it unless keep() was called.
  class Draft {
   public:
    Draft(int directory, std::string name, UniqueFd file)
        : directory_(directory), name_(std::move(name)), file_(std::move(file)) {}
    Draft(Draft&& other) noexcept
        : directory_(other.directory_),
          name_(std::exchange(other.name_, {})),
          file_(std::move(other.file_)) {}
    Draft& operator=(Draft&&) = delete;
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;
    ~Draft();

    /// Open for reading and writing.
    [[nodiscard]] int fd() const { return file_.get(); }
    /// Gives the file its name, and replaces any file of that name. Errors: the system's.
    [[nodiscard]] Result<void> keep(const Module& module);

   private:
    int directory_;
    std::string name_;  ///< Its temporary name; empty once it is kept.
    UniqueFd file_;
  };

  /// Makes the directory and its parents, with mode 0700, and removes drafts that were left by killed
  /// processes. Errors: the directory can't be used, or others may write to it.
  [[nodiscard]] static Result<SymbolCache> open(const std::string& path);

  /// A module's file, open for reading; empty if there is none.
  [[nodiscard]] UniqueFd find(const Module& module) const;
  /// Begins a new file. It must not outlive the cache. Errors: the system's.
  [[nodiscard]] Result<Draft> begin() const;

 private:
  SymbolCache(std::string path, UniqueFd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}
  void remove_left() const;

  std::string path_;
  UniqueFd directory_;  ///< Kept open, so that it stays the same if a parent is renamed.
};

/// A symbol server, which answers GET with a file (dotnet/symstore, «Simple Symbol Query Protocol»;
/// debuginfod(8)). The user's curl asks it.
class SymbolServer {
 public:
  /// Called with the number of bytes received so far.
  using OnBytes = std::function<void(std::uint64_t bytes)>;

  /// `url` is http or https, and contains nothing that would need quotes. It may contain a password.
  SymbolServer(transport::Loop& loop, std::string url);

  /// Downloads the file at `path` below the URL, and writes it to `to`, which must be empty. Returns false if
  /// the server has no such file. Errors: the server doesn't answer, answers something else or too slowly, or
  /// the file is too large; `to` is empty again then. Cancelling it ends curl.
  transport::Task<Result<bool>> fetch(std::string path, int to, OnBytes on_bytes);

  /// The URL without its password.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  transport::Loop& loop_;
  std::string url_;
  std::string name_;
};

/// Where to look for symbols. No other server is asked.
struct SymbolSources {
  std::vector<std::string> directories;
  std::vector<std::string> servers;  ///< URLs.
  std::string cache;                 ///< The directory that keeps what servers send.

  [[nodiscard]] bool empty() const { return directories.empty() && servers.empty(); }
};

/// Looks for the names of one profile.
class SymbolSearch {
 public:
  /// Called with what is being done, in a few words.
  using OnProgress = std::function<void(std::string doing)>;

  SymbolSearch(transport::Loop& loop, SymbolSources sources, OnProgress on_progress);
  SymbolSearch(const SymbolSearch&) = delete;
  SymbolSearch& operator=(const SymbolSearch&) = delete;

  /// Tells `to`, which must outlive the task, the functions of these files as they are found: in the
  /// directories, in the cache, and then on the servers. A server that fails is not asked again. If this is
  /// cancelled, what was told before stays valid.
  transport::Task<void> run(std::vector<UnnamedFile> files, SampleSink& to);

  /// What could not be asked or read, and why, for a person.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct ServerState {
    SymbolServer server;
    bool failed = false;
  };
  /// A file whose names are being looked for.
  struct Work {
    Module module;
    UnnamedFile file;
    std::size_t number;  ///< Counted from 1.
    std::size_t of;
  };

  transport::Task<void> search_directories(Work& work, SampleSink& to);
  transport::Task<void> search_servers(Work& work, SampleSink& to);
  /// Whether the server has a file of this build id with any of the names, which is then kept in the cache.
  /// Errors: the server's; don't ask it again.
  transport::Task<Result<bool>> fetch(ServerState& asked, Work& work, SampleSink& to);
  /// Whether one of the files has this build id. Errors: they could not be read.
  transport::Task<Result<bool>> read(OpenFiles open, Work& work, SampleSink& to);

  transport::Loop& loop_;
  std::vector<std::string> directories_;
  std::vector<ServerState> servers_;
  std::optional<SymbolCache> cache_;
  OnProgress on_progress_;
  std::uint64_t fetched_ = 0;  ///< Total bytes.
  std::vector<std::string> warnings_;
};

}  // namespace farport::router
