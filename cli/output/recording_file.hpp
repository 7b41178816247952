// The file that a recording goes to, as it comes.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/output_file.hpp"
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
  /// A file that is not there yet, or with `force` one in place of what is. Only its owner may read it: a
  /// recording may hold what requests said. It is removed in the end, unless keep() was called. Errors: it is
  /// there, or can't be made.
  static Result<std::shared_ptr<RecordingFile>> create(const std::string& path, bool force);

  /// Standard output in its place. Its writes may wait for ever, and only the thread that makes them does.
  static Result<std::shared_ptr<RecordingFile>> standard_output();

  explicit RecordingFile(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  explicit RecordingFile(UniqueFd output) : output_(std::move(output)) {}
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  [[nodiscard]] bool is_terminal() const { return output_ && ::isatty(output_.get()) != 0; }
  /// Appends, on the thread pool: a disk may be slow, and a session must stay alive meanwhile. The piece is
  /// not to be changed before it passes. Errors: the system's.
  transport::Task<Result<void>> append(transport::Loop& loop, std::shared_ptr<const Piece> piece);
  /// No more comes. Errors: see OutputFile; nothing is left then.
  [[nodiscard]] Result<void> keep();

 private:
  [[nodiscard]] Result<void> write(const Piece& piece);

  std::mutex writing_;  ///< A piece may still be on its way when the rest is given up.
  std::unique_ptr<OutputFile> file_;
  UniqueFd output_;
};

}  // namespace farport::cli
