#include "ipc/message.hpp"

#include <algorithm>

namespace farport::ipc {
namespace {

/// "DOTNET_IPC_V1" and a zero.
constexpr std::array<std::byte, 14> kMessageMagic = [] {
  constexpr char kText[] = "DOTNET_IPC_V1";
  std::array<std::byte, sizeof kText> magic{};
  std::ranges::transform(kText, magic.begin(), [](char c) { return static_cast<std::byte>(c); });
  return magic;
}();

}  // namespace

Result<Header> decode_header(BytesView bytes) {
  if (bytes.size() < kHeaderSize) {
    return fail("decode", "an IPC message",
                "a header has 20 bytes, but there are only " + std::to_string(bytes.size()));
  }
  if (!std::ranges::equal(bytes.first(kMessageMagic.size()), kMessageMagic)) {
    return fail("decode", "an IPC message", "it does not begin with DOTNET_IPC_V1",
                "check that the peer is a .NET diagnostic tool or runtime");
  }
  Reader in(bytes.subspan(kMessageMagic.size()), "an IPC message");
  Header header;
  header.size = in.u16();
  header.command_set = in.u8();
  header.command_id = in.u8();
  header.reserved = in.u16();
  if (header.size < kHeaderSize) {
    return fail("decode", "an IPC message",
                "its size is given as " + std::to_string(header.size) + ", less than its header's 20 bytes");
  }
  return in.result(header);
}

std::array<std::byte, kHeaderSize> encode_header(const Header& header) {
  Writer out;
  out.bytes(kMessageMagic);
  out.u16(header.size);
  out.u8(header.command_set);
  out.u8(header.command_id);
  out.u16(header.reserved);
  std::array<std::byte, kHeaderSize> bytes{};
  std::ranges::copy(out.take(), bytes.begin());
  return bytes;
}

Result<Message> decode_message(BytesView bytes) {
  const Result<Header> header = decode_header(bytes);
  if (!header) return tl::unexpected<Error>(header.error());
  if (header->size != bytes.size()) {
    return fail("decode", "an IPC message",
                "its size is given as " + std::to_string(header->size) + ", but there are " +
                    std::to_string(bytes.size()) + " bytes");
  }
  const BytesView payload = bytes.subspan(kHeaderSize);
  return make_message(header->command(), {payload.begin(), payload.end()});
}

Result<Bytes> encode_message(const Message& message) {
  if (message.payload.size() > kMaxMessagePayload) {
    return fail("encode", "the IPC message " + describe(message.command()),
                "its payload has " + std::to_string(message.payload.size()) + " bytes, and only " +
                    std::to_string(kMaxMessagePayload) + " fit into a message");
  }
  Header header{message.command_set, message.command_id};
  header.size = static_cast<std::uint16_t>(kHeaderSize + message.payload.size());
  Writer out;
  out.bytes(encode_header(header));
  out.bytes(message.payload);
  return out.take();
}

}  // namespace farport::ipc
