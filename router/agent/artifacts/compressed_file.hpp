// CompressedFile: a file of zstd frames (RFC 8878), written and read piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/unique_fd.hpp"
#include "router/stream/compressing_stream.hpp"

namespace farport::router {

/// Writes one.
class CompressedFile {
 public:
  /// `to` must outlive it.
  explicit CompressedFile(OutputFile& to);

  /// Errors: those of OutputFile::append(), or the library's.
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes) {
    return write(bytes, ZstdCompressor::Then::more);
  }
  /// Writes all that was appended, so that it can be read if nothing more comes.
  [[nodiscard]] Result<void> flush() { return write({}, ZstdCompressor::Then::flush); }
  /// Ends the file's contents.
  [[nodiscard]] Result<void> end() { return write({}, ZstdCompressor::Then::end); }

 private:
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes, ZstdCompressor::Then then);

  OutputFile& to_;
  ZstdCompressor compressor_;
  std::vector<std::byte> block_;
};

/// Reads one from its beginning.
class CompressedFileReader {
 public:
  /// What a file is that stops in the middle.
  enum class CutOff : std::uint8_t {
    error,
    end,  ///< All that can be read of it was read.
  };

  explicit CompressedFileReader(std::shared_ptr<const UniqueFd> file, CutOff cut_off = CutOff::error);

  /// The next bytes; nothing after the end. Waits for the disk. Errors: the system's, or it is no such file,
  /// or a damaged one.
  [[nodiscard]] Result<std::vector<std::byte>> next();

 private:
  std::shared_ptr<const UniqueFd> file_;
  CutOff cut_off_;
  std::uint64_t offset_ = 0;
  std::vector<std::byte> input_;
  std::span<const std::byte> unread_;  ///< The rest of input_.
  ZstdDecompressor decompressor_;
  bool output_waits_ = false;  ///< The decompressor may have more output without further input.
  bool frame_is_open_ = false;
};

}  // namespace farport::router
