// Answers of a runtime that carry no data of a command's own: OK, and an error with its HRESULT.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ipc/message.hpp"

namespace farport::ipc {

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
  std::string text;  ///< The runtime's own words, which only GenerateCoreDump3 gives. May be empty.

  /// For people: the text where there is one, with what the HRESULT means.
  [[nodiscard]] std::string message() const;
};

[[nodiscard]] inline bool is_ok(const Message& answer) {
  return answer.command() == kOk;
}
[[nodiscard]] inline bool is_error(const Message& answer) {
  return answer.command() == kError;
}

/// Reads an error answer. Fails where `answer` is no error, or has no HRESULT. A text that can't be read is
/// left out: the HRESULT is what counts.
[[nodiscard]] Result<ErrorAnswer> decode_error(const Message& answer);

/// How a runtime has answered `command`. Errors: it refuses it; `cause` is the HRESULT.
[[nodiscard]] Result<void> outcome_of(const Message& answer, Command command);

/// A whole error answer, ready to be sent. `text` goes only to a tool that sent GenerateCoreDump3; it is cut
/// off where it is longer than 1,000 bytes.
[[nodiscard]] Bytes encode_error(std::uint32_t hresult, std::string_view text = {});

/// The OK answer to a command that answers with a mere HRESULT (dumps, ResumeRuntime, and all that set
/// something), ready to be sent.
[[nodiscard]] Bytes encode_ok();

}  // namespace farport::ipc
