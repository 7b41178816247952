// Archives of regular files without directories (POSIX.1-2017, pax: ustar interchange format).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace farport {

/// An archive consists of blocks of this size.
inline constexpr std::size_t kTarBlock = 512;
/// The longest name of a file in an archive.
inline constexpr std::size_t kMaxTarName = 99;

/// Whether a file in an archive may have this name: it is no path, not hidden, and consists of visible ASCII.
[[nodiscard]] bool is_tar_name(std::string_view name);

/// What precedes a file's content. `name`: see is_tar_name().
[[nodiscard]] std::array<char, kTarBlock> tar_header(std::string_view name, std::uint64_t size);
/// How many zeros follow a file's content.
[[nodiscard]] std::size_t tar_padding(std::uint64_t size);
/// How many zeros follow the last file.
inline constexpr std::size_t kTarEnd = 2 * kTarBlock;

/// What becomes of the files of an archive.
class TarFiles {
 public:
  TarFiles() = default;
  TarFiles(const TarFiles&) = delete;
  TarFiles& operator=(const TarFiles&) = delete;
  virtual ~TarFiles() = default;

  virtual Result<void> begin(const std::string& name, std::uint64_t size) = 0;
  virtual Result<void> append(std::span<const std::byte> bytes) = 0;
  virtual Result<void> end() = 0;
};

/// Takes an archive apart piece by piece. It may come from an attacker.
class TarReader {
 public:
  /// `files` must outlive it. No more than `most` bytes of content are taken.
  TarReader(TarFiles& files, std::uint64_t most) : files_(files), left_(most) {}

  /// Takes the next bytes. Errors: this is no such archive, it has more than regular files with plain names,
  /// it is too large, or those of `files`.
  [[nodiscard]] Result<void> take(std::span<const std::byte> bytes);
  /// Call it after the last byte. Errors: the archive has not ended.
  [[nodiscard]] Result<void> finish() const;

 private:
  [[nodiscard]] Result<void> take_header();

  TarFiles& files_;
  std::uint64_t left_;
  std::array<char, kTarBlock> header_{};
  std::size_t header_bytes_ = 0;
  std::uint64_t content_ = 0;  ///< What is still to come of the file's content.
  std::size_t padding_ = 0;    ///< And of the zeros behind it.
  bool ended_ = false;
};

}  // namespace farport
