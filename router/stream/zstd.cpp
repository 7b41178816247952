#include "router/stream/zstd.hpp"

#include <algorithm>
#include <cstdint>
#include <new>

namespace farport::router {
namespace {

constexpr int kLargestWindowLog = 23;

}  // namespace

ZstdCompressor::ZstdCompressor(int level) : context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
}

void ZstdCompressor::limit_memory(int window_log, int table_log) {
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, window_log);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_hashLog, table_log);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_chainLog, table_log);
}

Result<ZstdStep> ZstdCompressor::step(std::span<const std::byte> in, std::span<std::byte> out, Then then) {
  static constexpr ZSTD_EndDirective kDirectives[] = {ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end};
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  const std::size_t left =
      ZSTD_compressStream2(context_.get(), &output, &input, kDirectives[static_cast<std::size_t>(then)]);
  if (ZSTD_isError(left) != 0) return fail("compress", "what is sent", ZSTD_getErrorName(left));
  return ZstdStep{input.pos, output.pos, then != Then::more && left == 0};
}

ZstdDecompressor::ZstdDecompressor() : context_(ZSTD_createDCtx()) {
  if (context_ == nullptr) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kLargestWindowLog);
}

/// Whether a frame begins as RFC 8878 has it (sections 3.1.1 and 3.1.2). The library may read formats of
/// before, too, whose windows it does not limit.
bool ZstdDecompressor::begins_well(std::span<const std::byte> in) const {
  constexpr std::uint32_t kFrame = 0xFD2FB528;
  constexpr std::uint32_t kSkippable = 0x184D2A50;
  constexpr std::uint32_t kAnySkippable = 0xF;
  std::uint32_t magic = 0;
  for (std::size_t i = 0; i < kMagicBytes; ++i) {
    if (i >= magic_bytes_ + in.size()) return true;  // Not known yet.
    const std::byte next = i < magic_bytes_ ? magic_[i] : in[i - magic_bytes_];
    magic |= std::to_integer<std::uint32_t>(next) << (8 * i);
  }
  return magic == kFrame || (magic & ~kAnySkippable) == kSkippable;
}

void ZstdDecompressor::note_taken(std::span<const std::byte> taken) {
  for (const std::byte each : taken.first(std::min(taken.size(), kMagicBytes - magic_bytes_))) {
    magic_[magic_bytes_++] = each;
  }
}

Result<ZstdStep> ZstdDecompressor::step(std::span<const std::byte> in, std::span<std::byte> out) {
  if (!begins_well(in)) return fail("decompress", "what the agent sent", "it is no zstd frame");
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  const std::size_t left = ZSTD_decompressStream(context_.get(), &output, &input);
  if (ZSTD_isError(left) != 0) return fail("decompress", "what the agent sent", ZSTD_getErrorName(left));
  note_taken(in.first(input.pos));
  if (left == 0) magic_bytes_ = 0;
  return ZstdStep{input.pos, output.pos, left == 0};
}

}  // namespace farport::router
