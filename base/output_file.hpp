// OutputFile: writes a result to a file that appears, or replaces the old one, only once it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace farport {

/// Writes all bytes; waits while the descriptor takes none. Returns 0, or the errno value, which is also in
/// errno.
[[nodiscard]] int write_whole(int fd, std::span<const std::byte> bytes);

/// Writes a file's name to the disk (fsync of its directory), so that it survives a power failure. Returns 0,
/// or the errno value.
[[nodiscard]] int write_name_down(const std::string& path);

class OutputFile {
 public:
  /// What to do if a file has that name already.
  enum class Existing : std::uint8_t { refuse, replace };
  /// When the file gets its name.
  enum class Named : std::uint8_t {
    on_commit,   ///< When it is complete.
    from_start,  ///< At once, so that it can be read while it grows. Only if no file has that name.
  };

  /// Prepares a file that will be at `path`, with mode 0600. Call it before requesting the data, since it
  /// checks that the file can be made. `what`: the data, such as "the dump". Fails if it can't be made;
  /// `cause` is EEXIST if one exists and must not be replaced.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create(std::string what, const std::string& path,
                                                                  Existing existing, Named named);

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Removes the file, unless it was kept.
  ~OutputFile();

  /// Fails if `bytes` don't fit into the file system.
  [[nodiscard]] Result<void> check_space(std::uint64_t bytes) const;
  /// Appends bytes; pages of zeros become holes. Fails with the system's error, and then always with the same
  /// one.
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes);
  /// Flushes the file to disk and gives it its name. Takes a while. Fails with the system's error or that of
  /// an append(); no file is left then.
  [[nodiscard]] Result<void> keep();

  /// Leaves what has been written, though it is not whole, where the file has had its name from the start.
  void leave() { part_.clear(); }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  OutputFile(std::string what, std::string path, Existing existing);
  [[nodiscard]] Result<void> open(Named named);
  [[nodiscard]] Result<void> write_at(std::span<const std::byte> bytes, std::uint64_t offset) const;
  [[nodiscard]] Result<void> write_out();
  [[nodiscard]] Result<void> take_name();
  [[nodiscard]] tl::unexpected<Error> failed(int error) const;

  std::string what_;
  std::string path_;
  Existing existing_;
  std::string part_;  ///< Its current name; empty with O_TMPFILE (open(2)).
  UniqueFd fd_;
  std::uint64_t size_ = 0;
  BoxedError failure_;
};

}  // namespace farport
