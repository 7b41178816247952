// The placeholder's program, embedded in farport and run under the remote program's name.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace farport::router {

/// The program's name, which /proc/PID/exe shows after "/memfd:".
inline constexpr const char* kPlaceholderName = "farport-placeholder";

/// The file that one placeholder executes: a name that is removed with this object, or the program in memory.
class PlaceholderProgram {
 public:
  PlaceholderProgram() = default;
  /// `directory`: removed together with the file; empty if nothing needs removing.
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

  /// Path of the program, for this process and a child that has not called exec yet.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Path for the process that already runs the program: a memory file is open in that process only.
  [[nodiscard]] std::string path_for_itself() const { return directory_.empty() ? "/proc/self/exe" : path_; }

 private:
  std::string path_;
  std::string directory_;
};

/// The program in a sealed memory file and, if possible, in a file. Made once for all placeholders of a
/// mirror. Tools show the file's name and name their own files after it.
class PlaceholderImage {
 public:
  /// `directory`: a directory for executable files that nobody else may write to. Without one, or if it is
  /// mounted noexec, the program runs from memory. Fails if the system allows no executable memory file
  /// (sysctl vm.memfd_noexec).
  [[nodiscard]] static Result<PlaceholderImage> make(const std::string& directory = {});

  /// The program under a file name, or from memory if no file can be made.
  [[nodiscard]] PlaceholderProgram named(const std::string& file_name);

 private:
  PlaceholderImage(UniqueFd memory, std::string directory)
      : memory_(std::move(memory)), directory_(std::move(directory)) {}

  UniqueFd memory_;
  std::string directory_;     ///< Holds the file; empty: there is none.
  std::uint64_t number_ = 0;  ///< Makes the directory of each name unique, since names may repeat.
};

}  // namespace farport::router
