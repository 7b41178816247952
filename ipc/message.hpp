// Message: the header of 20 bytes and the payload that begin every diagnostic connection in each direction,
// and common answers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

/// Reads a header from the first kHeaderSize bytes and ignores the rest. Fails if there are fewer bytes, if
/// the magic is not DOTNET_IPC_V1, or if the size is below the header's own.
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

/// Reads exactly one message from all of `bytes`. Fails like decode_header(), and if the size differs.
[[nodiscard]] Result<Message> decode_message(BytesView bytes);
/// Fails if the payload is longer than kMaxMessagePayload.
[[nodiscard]] Result<Bytes> encode_message(const Message& message);

/// HRESULTs that runtimes answer with (dotnet/runtime, ds-types.h), and two that farport adds: access
/// denied, and busy for a limit that was reached (HRESULT_FROM_WIN32 of ERROR_BUSY).
namespace hresult {
inline constexpr std::uint32_t kSuccess = 0;
inline constexpr std::uint32_t kBadEncoding = 0x80131384;
inline constexpr std::uint32_t kUnknownCommand = 0x80131385;
inline constexpr std::uint32_t kUnknownMagic = 0x80131386;
inline constexpr std::uint32_t kUnknownError = 0x80131387;
inline constexpr std::uint32_t kNotSupported = 0x80131515;
inline constexpr std::uint32_t kFail = 0x80004005;
inline constexpr std::uint32_t kNotYetAvailable = 0x8013135B;
inline constexpr std::uint32_t kRuntimeUninitialized = 0x80131371;
inline constexpr std::uint32_t kInvalidArgument = 0x80070057;
inline constexpr std::uint32_t kInsufficientBuffer = 0x8007007A;
inline constexpr std::uint32_t kVariableNotFound = 0x800000CB;
inline constexpr std::uint32_t kAccessDenied = 0x80070005;
inline constexpr std::uint32_t kBusy = 0x800700AA;
}  // namespace hresult

/// What an HRESULT means, for people: "access denied (0x80070005)"; "HRESULT 0x8000FFFF" for an unknown one.
[[nodiscard]] std::string describe_hresult(std::uint32_t hresult);

/// An error answer's content.
struct ErrorAnswer {
  std::uint32_t hresult = hresult::kFail;
  std::string text;  ///< From the runtime, which only GenerateCoreDump3 returns. May be empty.

  /// For people: the text, if any, with the meaning of the HRESULT.
  [[nodiscard]] std::string message() const;
};

[[nodiscard]] inline bool is_ok(const Message& answer) {
  return answer.command() == kOk;
}
[[nodiscard]] inline bool is_error(const Message& answer) {
  return answer.command() == kError;
}

/// Reads an error answer. Fails if `answer` is no error or has no HRESULT. An unreadable text is left out,
/// since the HRESULT matters.
[[nodiscard]] Result<ErrorAnswer> decode_error(const Message& answer);

/// The runtime's answer to `command` as a result. Fails if it is an error; `cause` is the HRESULT.
[[nodiscard]] Result<void> outcome_of(const Message& answer, Command command);

/// Encodes a whole error answer. Give `text` only for a tool that sent GenerateCoreDump3; it is cut off at
/// 1,000 bytes.
[[nodiscard]] Bytes encode_error(std::uint32_t hresult, std::string_view text = {});

/// Encodes the OK answer for commands that return only an HRESULT (dumps, ResumeRuntime, and all that set
/// something).
[[nodiscard]] Bytes encode_ok();

/// The magic ADVR_V1, the cookie, the pid and two unused bytes.
/// The first message of a runtime that has dialled a connect port.
inline constexpr std::size_t kAdvertiseSize = 34;

struct Advertise {
  Guid cookie;
  std::uint64_t pid = 0;  ///< In the runtime's own pid namespace.
};

/// Reads an advertise from the first kAdvertiseSize bytes. Fails if there are fewer bytes or the magic
/// differs.
[[nodiscard]] Result<Advertise> decode_advertise(BytesView bytes);
[[nodiscard]] std::array<std::byte, kAdvertiseSize> encode_advertise(const Advertise& advertise);

}  // namespace farport::ipc
