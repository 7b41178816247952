#include "profile/gzip.hpp"

#include <array>
#include <new>

namespace farport::profile {
namespace {

constexpr int kWindowBits = 15 + 16;  // 32 KiB, and gzip's header and trailer (zlib.h, deflateInit2).
constexpr int kMemoryLevel = 8;       // zlib's default.
constexpr std::size_t kDeflatedBytes = std::size_t{32} << 10;

}  // namespace

void Gzip::End::operator()(z_stream* stream) const {
  deflateEnd(stream);
  delete stream;
}

Gzip::Gzip(Output& out) : out_(out), stream_(new z_stream{}) {
  // The settings are right: nothing but a lack of memory is left to go wrong.
  if (deflateInit2(stream_.get(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowBits, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
}

void Gzip::deflate_all(std::string_view bytes, int flush) {
  std::array<char, kDeflatedBytes> deflated;
  // zlib only reads it.
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream_->avail_in = static_cast<uInt>(bytes.size());
  do {
    stream_->next_out = reinterpret_cast<Bytef*>(deflated.data());
    stream_->avail_out = static_cast<uInt>(deflated.size());
    deflate(stream_.get(), flush);
    out_.put({deflated.data(), deflated.size() - stream_->avail_out});
  } while (stream_->avail_out == 0);
}

}  // namespace farport::profile
