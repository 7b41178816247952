#include "profile/protobuf.hpp"

#include <array>
#include <new>

namespace farport::profile {
namespace {

constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kLengthDelimited = 2;

constexpr std::uint32_t tag_of(std::uint32_t field, std::uint32_t wire_type) {
  return field << 3 | wire_type;
}

}  // namespace

Message& Message::element(std::uint32_t field, std::string_view bytes) {
  add_varint(bytes_, tag_of(field, kLengthDelimited));
  add_varint(bytes_, bytes.size());
  bytes_ += bytes;
  return *this;
}

void Message::add(std::uint32_t field, std::uint64_t value) {
  add_varint(bytes_, tag_of(field, kVarint));
  add_varint(bytes_, value);
}

void Message::add_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

namespace {

constexpr int kWindowBits = 15 + 16;  // 32 KiB, with gzip's header and trailer (zlib.h, deflateInit2).
constexpr int kMemoryLevel = 8;       // zlib's default.
constexpr std::size_t kDeflatedBytes = std::size_t{32} << 10;

}  // namespace

void Gzip::End::operator()(z_stream* stream) const {
  deflateEnd(stream);
  delete stream;
}

Gzip::Gzip(Output& out) : out_(out), stream_(new z_stream{}) {
  // The parameters are valid, so only a lack of memory can make it fail.
  if (deflateInit2(stream_.get(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowBits, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
}

void Gzip::deflate_all(std::string_view bytes, int flush) {
  std::array<char, kDeflatedBytes> deflated;
  // zlib only reads the input.
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
