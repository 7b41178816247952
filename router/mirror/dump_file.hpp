// DumpFile: a dump on its way into a file. It has its name only once it is whole.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace farport::router {

class DumpFile {
 public:
  /// Prepares a file that will be at `path`, mode 0600. Errors: it can't be made there.
  [[nodiscard]] static Result<std::unique_ptr<DumpFile>> create(const std::string& path);

  DumpFile(std::string path, std::string part, UniqueFd fd)
      : path_(std::move(path)), part_(std::move(part)), fd_(std::move(fd)) {}
  DumpFile(const DumpFile&) = delete;
  DumpFile& operator=(const DumpFile&) = delete;
  /// Leaves nothing unless it was committed.
  ~DumpFile();

  /// Errors: so many bytes don't fit into the file system.
  [[nodiscard]] Result<void> check_space(std::uint64_t bytes) const;
  /// Appends. Pages of zeros become holes.
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes);
  /// Writes all of it to the disk, and gives it its name, in place of whatever file had it. Takes a while.
  [[nodiscard]] Result<void> commit();

  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  [[nodiscard]] Result<void> write_at(std::span<const std::byte> bytes, std::uint64_t offset) const;

  std::string path_;
  std::string
      part_;  ///< Its name meanwhile; empty where the file system can do without (open(2), O_TMPFILE).
  UniqueFd fd_;
  std::uint64_t size_ = 0;
};

}  // namespace farport::router
