#include "router/readers/reader_frames.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <unistd.h>

namespace farport::router {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kMostFailurePart = 1024;

}  // namespace

std::string encode_failure(const Error& error) {
  std::string text = error.what;
  for (const std::string* const part : {&error.on, &error.why, &error.hint}) (text += '\0') += *part;
  return text;
}

Error decode_failure(std::string_view text) {
  std::array<std::string, 4> parts;
  for (std::string& part : parts) {
    const std::string_view rest = text.substr(0, text.find('\0'));
    part = rest.substr(0, kMostFailurePart);
    text.remove_prefix(std::min(rest.size() + 1, text.size()));
  }
  auto& [what, on, why, hint] = parts;
  if (why.empty()) why = "its reader does not say why";
  return {what.empty() ? "read" : what, on, why, hint};
}

ReaderInput::ReaderInput(int from) : from_(from), piece_(kReadBytes) {}

Result<ReaderInput::Piece> ReaderInput::next_of_part() {
  const auto head = read_whole(kPieceHead);
  if (!head) return tl::unexpected(head.error());
  std::uint32_t size = 0;
  for (std::size_t i = kPieceHead; i-- > 0;) size = (size << 8U) | std::to_integer<std::uint32_t>((*head)[i]);
  if (size > piece_.size()) return fail("read", "what is passed on", "it is malformed");
  return read_whole(size);
}

Result<ReaderInput::Piece> ReaderInput::read_some(std::span<std::byte> into) const {
  for (;;) {
    const ssize_t got = ::read(from_, into.data(), into.size());
    if (got >= 0) return Piece(into).first(static_cast<std::size_t>(got));
    if (errno != EINTR) return fail_errno("read", "what is passed on", errno);
  }
}

Result<ReaderInput::Piece> ReaderInput::read_whole(std::size_t size) {
  const std::span<std::byte> whole = std::span(piece_).first(size);
  for (std::size_t have = 0; have < size;) {
    const auto got = read_some(whole.subspan(have));
    if (!got) return tl::unexpected(got.error());
    if (got->empty()) return fail("read", "what is passed on", "it breaks off");
    have += got->size();
  }
  return whole;
}

void ReaderOutput::write(ReaderFrame kind, std::string_view text) {
  do {
    std::string_view piece = text.substr(0, kMostFrame);
    // Lines stay whole, where they can.
    if (piece.size() < text.size()) piece = piece.substr(0, piece.rfind('\n') + 1);
    if (piece.empty()) piece = text.substr(0, kMostFrame);
    const auto size = static_cast<std::uint32_t>(piece.size());
    std::array<char, kFrameHead> head{static_cast<char>(kind)};
    for (std::size_t i = 1; i < head.size(); ++i) head[i] = static_cast<char>(size >> (8 * (i - 1)));
    write_all({head.data(), head.size()});
    write_all(piece);
    text.remove_prefix(piece.size());
  } while (!text.empty());
}

void ReaderOutput::write_all(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(to_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(1);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace farport::router
