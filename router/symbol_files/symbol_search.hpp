// Finds the names that a remote process's own files lack.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "router/symbol_files/symbol_cache.hpp"
#include "router/symbol_files/symbol_server.hpp"
#include "router/symbols/file_symbols.hpp"

namespace farport::router {

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
