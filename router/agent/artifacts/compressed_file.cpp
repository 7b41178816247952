#include "router/agent/artifacts/compressed_file.hpp"

#include <cerrno>
#include <utility>

#include <unistd.h>

namespace farport::router {
namespace {

constexpr int kFileLevel = 3;
/// The window, and the table to search it: 256 KiB. Several are read at a time.
constexpr int kWindowLog = 18;
constexpr int kTableLog = 16;
constexpr std::size_t kBlockBytes = 64 * 1024;

tl::unexpected<Error> unreadable(std::string why) {
  return fail("read", "what is kept", std::move(why));
}

}  // namespace

CompressedFile::CompressedFile(OutputFile& to) : to_(to), compressor_(kFileLevel), block_(kBlockBytes) {
  compressor_.limit_memory(kWindowLog, kTableLog);
  compressor_.add_checksums();
}

Result<void> CompressedFile::write(std::span<const std::byte> bytes, ZstdCompressor::Then then) {
  for (bool more = true; more;) {
    const auto step = compressor_.step(bytes, block_, then);
    if (!step) return fail("compress", to_.path(), step.error().why);
    bytes = bytes.subspan(step->taken);
    RETURN_IF_ERROR(to_.append(std::span(block_).first(step->made)));
    more = then == ZstdCompressor::Then::more ? !bytes.empty() : !step->ended;
  }
  return {};
}

CompressedFileReader::CompressedFileReader(std::shared_ptr<const UniqueFd> file, CutOff cut_off)
    : file_(std::move(file)), cut_off_(cut_off), input_(kBlockBytes) {}

Result<std::vector<std::byte>> CompressedFileReader::next() {
  std::vector<std::byte> output(kBlockBytes);
  for (;;) {
    if (unread_.empty() && !output_waits_) {
      const ssize_t got = ::pread(file_->get(), input_.data(), input_.size(), static_cast<off_t>(offset_));
      if (got < 0) return fail_errno("read", "what is kept", errno);
      const bool is_cut_off = got == 0 && (frame_is_open_ || offset_ == 0);
      if (is_cut_off && cut_off_ == CutOff::error) return unreadable("it is cut off");
      if (got == 0) return std::vector<std::byte>();
      offset_ += static_cast<std::uint64_t>(got);
      unread_ = std::span(input_).first(static_cast<std::size_t>(got));
    }
    const auto step = decompressor_.step(unread_, output);
    if (!step) return unreadable(step.error().why);
    unread_ = unread_.subspan(step->taken);
    frame_is_open_ = !step->ended;
    output_waits_ = frame_is_open_ && step->made == output.size();
    if (step->made == 0) continue;
    output.resize(step->made);
    return output;
  }
}

}  // namespace farport::router
