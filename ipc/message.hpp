// The IPC message: a header of 20 bytes and a payload. The first thing on every diagnostic connection, in
// each direction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ipc/commands.hpp"
#include "ipc/wire.hpp"

namespace farport::ipc {

inline constexpr std::size_t kHeaderSize = 20;
/// The header's size field is 16 bits wide, and counts the header too.
inline constexpr std::size_t kMaxMessageSize = 0xFFFF;
inline constexpr std::size_t kMaxMessagePayload = kMaxMessageSize - kHeaderSize;

/// A header, apart from its magic.
struct Header {
  std::uint8_t command_set = 0;
  std::uint8_t command_id = 0;
  std::uint16_t size = kHeaderSize;  ///< Of the whole message in bytes, the header included.
  std::uint16_t reserved = 0;

  [[nodiscard]] Command command() const { return {command_set, command_id}; }
  [[nodiscard]] std::size_t payload_size() const { return size - kHeaderSize; }
};

/// Reads a header from the first kHeaderSize bytes; those after it are left alone. Fails where there are
/// fewer, where the magic is not DOTNET_IPC_V1, and where the size is less than the header's own.
[[nodiscard]] Result<Header> decode_header(BytesView bytes);
[[nodiscard]] std::array<std::byte, kHeaderSize> encode_header(const Header& header);

struct Message {
  std::uint8_t command_set = 0;
  std::uint8_t command_id = 0;
  Bytes payload;

  [[nodiscard]] Command command() const { return {command_set, command_id}; }
};

[[nodiscard]] inline Message make_message(Command command, Bytes payload = {}) {
  return {command.set, command.id, std::move(payload)};
}

/// Reads exactly one message: all of `bytes`. Fails as decode_header() does, and where the size differs.
[[nodiscard]] Result<Message> decode_message(BytesView bytes);
/// Fails where the payload is longer than kMaxMessagePayload.
[[nodiscard]] Result<Bytes> encode_message(const Message& message);

}  // namespace farport::ipc
