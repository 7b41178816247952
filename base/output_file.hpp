// OutputFile: a result on its way into a file. What was there before stays until the result is kept, and
// nothing half written is left behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace farport {

/// Writing all of it.
/// Writes all of the bytes, and waits where a descriptor takes none for now. 0, or the errno value, which
/// errno has, too.
[[nodiscard]] int write_whole(int fd, std::span<const std::byte> bytes);

class OutputFile {
 public:
  /// What becomes of a file that has the name already.
  enum class Existing : std::uint8_t { refuse, replace };
  /// When it has its name.
  enum class Named : std::uint8_t {
    once_kept,   ///< Once it is whole.
    from_start,  ///< At once, so that it can be read while it grows. Only where nothing has that name yet.
  };

  /// Prepares a file that will be at `path`, mode 0600: to be done before anything is asked for that goes
  /// into it. `what`: that, such as "the dump". Errors: it can't be made there; EEXIST: there is one.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create(std::string what, const std::string& path,
                                                                  Existing existing, Named named);

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Removes it, unless it was kept.
  ~OutputFile();

  /// Errors: so many bytes don't fit into the file system.
  [[nodiscard]] Result<void> check_space(std::uint64_t bytes) const;
  /// Appends. Pages of zeros become holes. Errors: the system's; what comes later is refused for the same
  /// reason.
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes);
  /// Writes all of it to the disk, and gives it its name. Takes a while. Errors: the system's, or that of an
  /// append(): nothing is left then.
  [[nodiscard]] Result<void> keep();

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
  std::string
      part_;  ///< The name that it has now; empty where the file system can do without (open(2), O_TMPFILE).
  UniqueFd fd_;
  std::uint64_t size_ = 0;
  BoxedError failure_;
};

}  // namespace farport
