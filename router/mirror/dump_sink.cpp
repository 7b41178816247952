#include "router/mirror/dump_sink.hpp"

#include <string>

namespace farport::router {
namespace {

constexpr std::size_t kBufferSize = 512 * 1024;

}  // namespace

DumpSink::DumpSink(std::unique_ptr<OutputFile> file, std::uint64_t expected, bool compressed)
    : file_(std::move(file)), expected_(expected) {
  if (!compressed) return;
  decompressor_.emplace();
  buffer_.resize(kBufferSize);
}

void DumpSink::take(std::span<const std::byte> piece) {
  if (failure_) return;
  const Result<void> taken = decompressor_ ? decompress(piece) : append(piece);
  if (!taken) failure_ = taken.error();
}

void DumpSink::commit() {
  if (failure_) return;
  const Result<void> committed = check_and_commit();
  if (!committed) failure_ = committed.error();
}

Result<void> DumpSink::check_and_commit() {
  if (file_->size() != expected_ || (decompressor_ && !frame_ended_)) {
    return fail("receive", "the dump",
                "the agent sent " + std::to_string(file_->size()) + " of its " + std::to_string(expected_) +
                    " bytes");
  }
  return file_->keep();
}

/// Nothing may fill this host's disk beyond what was announced.
Result<void> DumpSink::append(std::span<const std::byte> bytes) {
  if (bytes.size() > expected_ - file_->size()) {
    return fail("receive", "the dump",
                "the agent sends more than the " + std::to_string(expected_) + " bytes that it announced");
  }
  return file_->append(bytes);
}

Result<void> DumpSink::decompress(std::span<const std::byte> bytes) {
  // Once more where the output was full: there may be more of it inside.
  for (bool full = false; !bytes.empty() || full;) {
    if (frame_ended_) return fail("receive", "the dump", "the agent sent something after its end");
    const auto step = decompressor_->step(bytes, buffer_);
    if (!step) return tl::unexpected(step.error());
    bytes = bytes.subspan(step->taken);
    frame_ended_ = step->ended;
    full = step->made == buffer_.size() && !frame_ended_;
    const Result<void> written = append(std::span(buffer_).first(step->made));
    if (!written) return written;
  }
  return {};
}

}  // namespace farport::router
