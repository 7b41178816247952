// The file that a recording goes to, as it comes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"

namespace farport::cli {

/// Bytes that a thread reads: of which `size` count.
struct Piece {
  std::vector<std::byte> bytes;
  std::size_t size = 0;
};

class RecordingFile : public std::enable_shared_from_this<RecordingFile> {
 public:
  /// Makes a file that is not there yet; with `force`, in place of one that is. Only its owner may read it: a
  /// recording may hold what requests said. Errors: it is there, or can't be made.
  static Result<std::shared_ptr<RecordingFile>> create(const std::string& path, bool force);

  /// Standard output in its place. Its writes may wait for ever, and only the thread that makes them does.
  static Result<std::shared_ptr<RecordingFile>> standard_output();

  RecordingFile(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  /// Appends, on the thread pool: a disk may be slow, and a session must stay alive meanwhile. The piece is
  /// not to be changed before it passes. Errors: the system's.
  transport::Task<Result<void>> append(transport::Loop& loop, std::shared_ptr<const Piece> piece);
  /// The same at once, and the caller waits.
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes) const;
  /// Removes it: nothing has come.
  void remove() const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  UniqueFd file_;
};

}  // namespace farport::cli
