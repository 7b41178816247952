#include "router/agent/dumps/dump_sender.hpp"

#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

#include <fcntl.h>

#include "router/stream/zstd.hpp"
#include "transport/offload.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Offload;
using transport::Task;

/// Negative levels are the fast ones: memory that is mostly zeros and repeats shrinks about as well with
/// them.
constexpr int kLevel = -3;
constexpr std::size_t kReadSize = 256 * 1024;
constexpr std::size_t kPieceSize = 256 * 1024;
/// What shrinks to nothing makes no piece, but ends the work after so much of it.
constexpr std::uint64_t kMostReadPerPiece = 8 * 1024 * 1024;

struct Piece {
  std::vector<std::byte> bytes = std::vector<std::byte>(transport::kHeadroom + kPieceSize);
  std::size_t size = 0;
  std::uint64_t read = 0;  ///< How much of the dump has been read by then.
  bool last = false;
  std::optional<Error> error;

  [[nodiscard]] std::span<std::byte> space() { return std::span(bytes).subspan(transport::kHeadroom + size); }
  [[nodiscard]] transport::Chunk chunk() { return {bytes.data() + transport::kHeadroom, size, true}; }
};

/// What the thread pool works on, one piece at a time.
class Source {
 public:
  Source(OpenDump dump, bool compress) : dump_(std::move(dump)) {
    ::posix_fadvise(dump_.fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    if (!compress) return;
    compressor_.emplace(kLevel);
    buffer_.resize(kReadSize);
  }

  void fill(Piece& piece) {
    piece.size = 0;
    const std::uint64_t begin = offset_;
    Result<void> filled;
    while (filled && !piece.last && !piece.space().empty() && offset_ - begin < kMostReadPerPiece) {
      filled = compressor_ ? add_compressed(piece) : add_plain(piece);
    }
    piece.read = offset_;
    if (!filled) piece.error = filled.error();
  }

 private:
  Result<std::size_t> read(std::span<std::byte> into) {
    const std::uint64_t left = dump_.size - offset_;
    const std::size_t wanted = std::min<std::uint64_t>(into.size(), left);
    const ssize_t got = ::pread(dump_.fd.get(), into.data(), wanted, static_cast<off_t>(offset_));
    if (got < 0) return fail_errno("read", "the dump", errno);
    if (got == 0 && wanted > 0) return fail("read", "the dump", "it has been made shorter meanwhile");
    offset_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }

  Result<void> add_plain(Piece& piece) {
    const auto got = read(piece.space());
    if (!got) return tl::unexpected(got.error());
    piece.size += *got;
    piece.last = offset_ == dump_.size;
    return {};
  }

  Result<void> add_compressed(Piece& piece) {
    if (input_.empty() && offset_ < dump_.size) {
      const auto got = read(buffer_);
      if (!got) return tl::unexpected(got.error());
      input_ = std::span(buffer_).first(*got);
    }
    const bool last = offset_ == dump_.size;
    const auto then = last ? ZstdCompressor::Then::end : ZstdCompressor::Then::more;
    const auto step = compressor_->step(input_, piece.space(), then);
    if (!step) return tl::unexpected(step.error());
    input_ = input_.subspan(step->taken);
    piece.size += step->made;
    piece.last = step->ended;
    return {};
  }

  OpenDump dump_;
  std::uint64_t offset_ = 0;
  std::optional<ZstdCompressor> compressor_;
  std::vector<std::byte> buffer_;
  std::span<const std::byte> input_;  ///< Of the buffer, read and not compressed yet.
};

std::unique_ptr<Offload> begin_fill(transport::Loop& loop, std::shared_ptr<Source> source,
                                    std::shared_ptr<Piece> piece) {
  return std::make_unique<Offload>(loop, [source, piece] { source->fill(*piece); });
}

}  // namespace

Task<Result<void>> send_dump(transport::Stream& to, OpenDump dump, bool compress,
                             std::function<void(std::uint64_t)> on_sent) {
  const auto source = std::make_shared<Source>(std::move(dump), compress);
  auto piece = std::make_shared<Piece>();
  auto other = std::make_shared<Piece>();
  auto work = begin_fill(to.loop(), source, piece);
  for (bool last = false; !last;) {
    co_await work->done();
    if (piece->error) co_return tl::unexpected(*piece->error);
    last = piece->last;
    const std::shared_ptr<Piece> ready = piece;
    if (!last) {
      std::swap(piece, other);
      work = begin_fill(to.loop(), source, piece);
    }
    IoStatus written = IoStatus::ok;
    if (last) {
      written = co_await to.write_last(ready->chunk());
    } else {
      written = co_await to.write(ready->chunk());
    }
    if (written != IoStatus::ok) co_return tl::unexpected(to.error());
    on_sent(ready->read);
  }
  co_return Result<void>{};
}

}  // namespace farport::router
