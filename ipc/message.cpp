#include "ipc/message.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.hpp"

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

namespace {

/// About the limit of the runtime's own texts; always short enough for a message.
constexpr std::size_t kMaxText = 1000;

std::string_view meaning_of(std::uint32_t value) {
  switch (value) {
    case hresult::kSuccess:
      return "success";
    case hresult::kBadEncoding:
      return "the command is badly encoded";
    case hresult::kUnknownCommand:
      return "the runtime does not know this command";
    case hresult::kUnknownMagic:
      return "the message is of an unknown protocol version";
    case hresult::kUnknownError:
      return "unknown error";
    case hresult::kNotSupported:
      return "not supported";
    case hresult::kFail:
      return "the command failed";
    case hresult::kNotYetAvailable:
      return "not available before the runtime has been resumed";
    case hresult::kRuntimeUninitialized:
      return "the runtime is not initialized yet";
    case hresult::kInvalidArgument:
      return "invalid argument";
    case hresult::kInsufficientBuffer:
      return "the buffer is too small";
    case hresult::kVariableNotFound:
      return "no such environment variable";
    case hresult::kBusy:
      return "busy: a limit of the agent was reached";
    case hresult::kAccessDenied:
      return "access denied";
    default:
      return {};
  }
}

/// Encodes a message whose payload is known to fit.
Bytes encode_answer(Command command, Writer payload) {
  const Bytes bytes = payload.take();
  Header header{command.set, command.id};
  header.size = static_cast<std::uint16_t>(kHeaderSize + bytes.size());
  Writer out;
  out.bytes(encode_header(header));
  out.bytes(bytes);
  return out.take();
}

}  // namespace

std::string describe_hresult(std::uint32_t hresult) {
  std::array<char, 16> number{};
  std::snprintf(number.data(), number.size(), "0x%08X", hresult);
  const std::string_view meaning = meaning_of(hresult);
  if (meaning.empty()) return std::string("HRESULT ") + number.data();
  return std::string(meaning) + " (" + number.data() + ")";
}

std::string ErrorAnswer::message() const {
  return text.empty() ? describe_hresult(hresult) : text + ": " + describe_hresult(hresult);
}

Result<ErrorAnswer> decode_error(const Message& answer) {
  if (!is_error(answer)) {
    return fail("decode", "an error answer", "it is " + (is_ok(answer) ? "OK" : describe(answer.command())));
  }
  Reader in(answer.payload, "an error answer");
  ErrorAnswer error;
  error.hresult = in.u32();
  ASSIGN_OR_RETURN(auto bare, in.result(error));
  error.text = in.string();
  if (in.failed()) return bare;
  return error;
}

Result<void> outcome_of(const Message& answer, Command command) {
  if (is_ok(answer)) return {};
  ASSIGN_OR_RETURN(const auto refused, decode_error(answer));
  return tl::unexpected(Error{"send",
                              std::string(name_of(command)),
                              "the runtime answers: " + refused.message(),
                              {},
                              Cause::runtime(refused.hresult)});
}

Bytes encode_error(std::uint32_t hresult, std::string_view text) {
  Writer payload;
  payload.u32(hresult);
  if (!text.empty()) payload.string(shortened(text, kMaxText));
  return encode_answer(kError, std::move(payload));
}

Bytes encode_ok() {
  Writer payload;
  payload.u32(hresult::kSuccess);
  return encode_answer(kOk, std::move(payload));
}

namespace {

/// "ADVR_V1" and a zero.
constexpr std::array<std::byte, 8> kAdvertiseMagic = [] {
  constexpr char kText[] = "ADVR_V1";
  std::array<std::byte, sizeof kText> magic{};
  std::ranges::transform(kText, magic.begin(), [](char c) { return static_cast<std::byte>(c); });
  return magic;
}();

}  // namespace

Result<Advertise> decode_advertise(BytesView bytes) {
  if (bytes.size() < kAdvertiseSize) {
    return fail("decode", "an advertise",
                "it has 34 bytes, but there are only " + std::to_string(bytes.size()));
  }
  if (!std::ranges::equal(bytes.first(kAdvertiseMagic.size()), kAdvertiseMagic)) {
    return fail("decode", "an advertise", "it does not begin with ADVR_V1",
                "check that only .NET runtimes dial this port");
  }
  Reader in(bytes.subspan(kAdvertiseMagic.size()), "an advertise");
  Advertise advertise;
  advertise.cookie = in.guid();
  advertise.pid = in.u64();
  return in.result(advertise);
}

std::array<std::byte, kAdvertiseSize> encode_advertise(const Advertise& advertise) {
  Writer out;
  out.bytes(kAdvertiseMagic);
  out.guid(advertise.cookie);
  out.u64(advertise.pid);
  out.u16(0);
  std::array<std::byte, kAdvertiseSize> bytes{};
  std::ranges::copy(out.take(), bytes.begin());
  return bytes;
}

}  // namespace farport::ipc
