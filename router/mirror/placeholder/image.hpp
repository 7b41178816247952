// The placeholder's program, carried inside farport, and run from a file with the remote program's name:
// tools show it, and name their own files after it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace farport::router {

/// The program's name, as /proc/PID/exe shows it behind "/memfd:".
inline constexpr const char* kPlaceholderName = "farport-placeholder";

/// What one placeholder executes: a name that goes with this object, or nothing but what is in memory.
class PlaceholderProgram {
 public:
  PlaceholderProgram() = default;
  /// `directory`: empty where the path needs no removing; else what is removed with it.
  PlaceholderProgram(std::string path, std::string directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}
  PlaceholderProgram(PlaceholderProgram&& other) noexcept
      : path_(std::move(other.path_)), directory_(std::exchange(other.directory_, {})) {}
  PlaceholderProgram& operator=(PlaceholderProgram&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(directory_, other.directory_);
    return *this;
  }
  ~PlaceholderProgram();

  /// Valid in this process and in a child that has not executed anything yet.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Valid in the process that executes this program already: a file in memory is open in this one alone.
  [[nodiscard]] std::string path_for_itself() const { return directory_.empty() ? "/proc/self/exe" : path_; }

 private:
  std::string path_;
  std::string directory_;
};

/// The program in a sealed file in memory and, where possible, in a file. Made once, for all placeholders of
/// a mirror.
class PlaceholderImage {
 public:
  /// `directory`: one that nobody else may write to, for files to execute; without one, or where it takes
  /// none (mounted noexec), the program is run from memory. Fails where the system allows no executable file
  /// in memory (the sysctl vm.memfd_noexec).
  [[nodiscard]] static Result<PlaceholderImage> make(const std::string& directory = {});

  /// The program under a file name; from memory where that can't be had.
  [[nodiscard]] PlaceholderProgram named(const std::string& file_name);

 private:
  PlaceholderImage(UniqueFd memory, std::string directory)
      : memory_(std::move(memory)), directory_(std::move(directory)) {}

  UniqueFd memory_;
  std::string directory_;     ///< Holds the file; empty: there is none.
  std::uint64_t number_ = 0;  ///< Of the last name's directory: two may have the same name.
};

}  // namespace farport::router
