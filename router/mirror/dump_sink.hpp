// What comes of a dump over the network, decompressed and checked on its way into a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "router/stream/zstd.hpp"

namespace farport::router {

/// Takes one piece at a time, on whichever thread. Once something has failed, it takes no more.
class DumpSink {
 public:
  /// `expected`: how many bytes the agent has announced. `compressed`: they come as one zstd frame.
  DumpSink(std::unique_ptr<OutputFile> file, std::uint64_t expected, bool compressed);

  void take(std::span<const std::byte> piece);
  /// Once all has been taken: gives the file its name, if it is whole.
  void commit();

  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  /// How much of the dump there is, before compression.
  [[nodiscard]] std::uint64_t size() const { return file_->size(); }

 private:
  [[nodiscard]] Result<void> check_and_commit();
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> decompress(std::span<const std::byte> bytes);

  std::unique_ptr<OutputFile> file_;
  std::uint64_t expected_;
  std::optional<ZstdDecompressor> decompressor_;
  std::vector<std::byte> buffer_;
  bool frame_ended_ = false;
  std::optional<Error> failure_;
};

}  // namespace farport::router
