// Finds the names that a remote process's own files lack.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/symbol_files/module.hpp"
#include "router/symbols/file_symbols.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"

namespace farport::router {

/// What symbol servers have sent, kept for the next time.
/// A directory of this user's, in which files are called by their build ids.
class SymbolCache {
 public:
  /// A file on its way into the cache. It is removed unless it is kept.
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
    /// Gives it its name, in place of whatever file had it. Errors: the system's.
    [[nodiscard]] Result<void> keep(const Module& module);

   private:
    int directory_;
    std::string name_;  ///< Meanwhile; empty once it is kept.
    UniqueFd file_;
  };

  /// The directory is made, with mode 0700, as those above it are. Removes what was left by those that were
  /// killed. Errors: it can't be used, or others may write to it.
  [[nodiscard]] static Result<SymbolCache> open(const std::string& path);

  /// The file of a module, open for reading. None: there is none.
  [[nodiscard]] UniqueFd find(const Module& module) const;
  /// A new file, which must not outlive the cache. Errors: the system's.
  [[nodiscard]] Result<Draft> begin() const;

 private:
  SymbolCache(std::string path, UniqueFd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}
  void remove_left() const;

  std::string path_;
  UniqueFd directory_;  ///< So that it stays the same, whoever may rename those above it.
};

/// A symbol server, asked by the user's curl.
/// One that answers GET with a file (dotnet/symstore, «Simple Symbol Query Protocol»; debuginfod(8)).
class SymbolServer {
 public:
  /// Told of so many bytes of the file that comes.
  using OnBytes = std::function<void(std::uint64_t bytes)>;

  /// `url`: http or https, without what would need quotes; it may have a password.
  SymbolServer(transport::Loop& loop, std::string url);

  /// Fetches a file by its path behind the URL, and writes it to `to`, which is empty. False: the server has
  /// no such file. Errors: it doesn't answer, says something else, is too slow, or the file is too large;
  /// what has been written is nothing then. Cancelling it ends curl.
  transport::Task<Result<bool>> fetch(std::string path, int to, OnBytes on_bytes);

  /// The URL, without a password.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  transport::Loop& loop_;
  std::string url_;
  std::string name_;
};

/// Where to look. No server is asked that isn't named here.
struct SymbolSources {
  std::vector<std::string> directories;
  std::vector<std::string> servers;  ///< URLs.
  std::string cache;                 ///< A directory for what servers send.

  [[nodiscard]] bool empty() const { return directories.empty() && servers.empty(); }
};

class SymbolSearch {
 public:
  /// Told what is being done, in a few words.
  using OnProgress = std::function<void(std::string doing)>;

  SymbolSearch(transport::Loop& loop, SymbolSources sources, OnProgress on_progress);
  SymbolSearch(const SymbolSearch&) = delete;
  SymbolSearch& operator=(const SymbolSearch&) = delete;

  /// Tells `to`, which must outlive the work, the functions of each of these files as they are found: in the
  /// directories, in the cache, and then on the servers. A server that fails is not asked again. What is
  /// found before it is cancelled stays told.
  transport::Task<void> run(std::vector<UnnamedFile> files, SampleSink& to);

  /// For a person: what could not be asked or read, and why.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Asked {
    SymbolServer server;
    bool failed = false;
  };
  /// A file under way.
  struct Work {
    Module module;
    UnnamedFile file;
    std::size_t number;  ///< From 1.
    std::size_t of;
  };

  transport::Task<void> search_directories(Work& work, SampleSink& to);
  transport::Task<void> search_servers(Work& work, SampleSink& to);
  /// Whether the server has a file of this build id with any of the names, which is kept then. Errors: of the
  /// server, which should not be asked again.
  transport::Task<Result<bool>> fetch(Asked& asked, Work& work, SampleSink& to);
  /// Whether one of the files is of this build id. Errors: they could not be read.
  transport::Task<Result<bool>> read(OpenFiles open, Work& work, SampleSink& to);

  transport::Loop& loop_;
  std::vector<std::string> directories_;
  std::vector<Asked> servers_;
  std::optional<SymbolCache> cache_;
  OnProgress on_progress_;
  std::uint64_t fetched_ = 0;  ///< Bytes, in all.
  std::vector<std::string> warnings_;
};

}  // namespace farport::router
