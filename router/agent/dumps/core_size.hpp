// CoreSize: the size that an ELF core file must have, from its beginning.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace farport::router {

/// Follows a core file while it is written, and says whether it is whole. A runtime says that its dump is
/// written, too, when a signal has killed the writer. Keeps a few bytes.
class CoreSize {
 public:
  /// Takes the next bytes.
  void take(std::span<const std::byte> bytes);

  /// What was taken.
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  /// Whether all of the file was taken, by what its headers say (elf(5)). False if it is no 64-bit ELF file
  /// whose headers come in order.
  [[nodiscard]] bool is_whole() const { return next_ == Next::nothing && size_ > 0 && taken_ >= size_; }

 private:
  enum class Next : std::uint8_t { header, section, segment, nothing, unknown };
  void read_part();
  void expect(Next next, std::uint64_t offset, std::size_t size);
  void expect_segments();

  Next next_ = Next::header;
  std::uint64_t offset_ = 0;          ///< Of the part that is read next.
  std::size_t wanted_ = 64;           ///< Its size.
  std::array<std::byte, 64> part_{};  ///< What there is of it.
  std::size_t held_ = 0;
  std::uint64_t segments_offset_ = 0;
  std::uint64_t segments_ = 0;
  std::uint64_t segments_read_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace farport::router
