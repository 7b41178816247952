#include "router/stream/zstd.hpp"

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

Result<ZstdStep> ZstdDecompressor::step(std::span<const std::byte> in, std::span<std::byte> out) {
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  const std::size_t left = ZSTD_decompressStream(context_.get(), &output, &input);
  if (ZSTD_isError(left) != 0) return fail("decompress", "what the agent sent", ZSTD_getErrorName(left));
  return ZstdStep{input.pos, output.pos, left == 0};
}

}  // namespace farport::router
