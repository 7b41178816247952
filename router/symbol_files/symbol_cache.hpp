// What symbol servers have sent, kept for the next time.
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/symbol_files/module.hpp"

namespace farport::router {

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

}  // namespace farport::router
