// Journal: a file of lines, each of which is on the disk before anything else is done.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace farport {

/// All functions wait for the disk, and may be called on any thread.
class Journal {
 public:
  /// Opens the file, which is made if it is missing, and gives its lines to `take`, the first one first. What
  /// a kill has left of a line is cut off. Errors: those of `take`, a line of more than 1 MiB, or the
  /// system's.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> open(
      std::string path, const std::function<Result<void>(std::string_view)>& take);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Appends a line, which must have no end of line in it, and writes it to the disk (fsync). If that fails,
  /// the file is as it was. Errors: the system's.
  [[nodiscard]] Result<void> append(std::string_view line);
  /// Writes the file anew with these lines alone: to the disk, before it takes the old one's place. Errors:
  /// the system's; then it is as it was, or perhaps as it was to be.
  [[nodiscard]] Result<void> replace(const std::vector<std::string>& lines);
  /// In bytes.
  [[nodiscard]] std::uint64_t size() const;

 private:
  Journal(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}
  [[nodiscard]] Result<void> read_lines(const std::function<Result<void>(std::string_view)>& take);

  std::string path_;
  mutable std::mutex mutex_;
  UniqueFd file_;
  std::uint64_t size_ = 0;
};

}  // namespace farport
