// What a reader is told, and what it says.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "events/exceptions.hpp"
#include "events/lines.hpp"
#include "events/measurements.hpp"
#include "profile/profile.hpp"

namespace farport::router {

/// What a reader says: frames of a kind, four bytes of length (little-endian), and so many bytes.
enum class ReaderFrame : char {
  lines = 'l',        ///< Of the answer.
  file = 'w',         ///< Of the file that the answer goes to, beside its lines. An empty one: it is whole.
  measurement = 'v',  ///< One, as encode_measurement() has it.
  exception = 'x',    ///< One, as encode_exception() has it.
  method = 'd',       ///< One, as encode_method() has it.
  notice = 't',       ///< What the runtime has to say, for a person.
  enough = 'n',       ///< The recording may be stopped.
  failure = 'f',      ///< Why there is no answer, as encode_failure() has it. Nothing follows.
  memory = 'm',       ///< It takes more memory than the reader may have. Nothing follows.
  end = 'e',          ///< The answer is whole. Nothing follows.
};
inline constexpr std::size_t kFrameHead = 5;
/// Before each piece of what is passed on as a part (Reading::pass_on()): its length, four bytes
/// (little-endian). One of 0 ends the part.
inline constexpr std::size_t kPieceHead = 4;
inline constexpr std::size_t kMostPiece = 32 * 1024;
inline constexpr std::size_t kMostFrame = 64 * 1024;
/// What of a runtime's notices is said, and logged.
inline constexpr std::size_t kMostNotices = events::kMostNotices + 1;
inline constexpr std::size_t kMostNoticeBytes = 256;

/// An error without its cause, which is for a person alone.
[[nodiscard]] std::string encode_failure(const Error& error);
/// The reverse, of whatever text. No part of it is long.
[[nodiscard]] Error decode_failure(std::string_view text);

/// What comes, piece by piece: the reader's side.
class ReaderInput {
 public:
  explicit ReaderInput(int from);

  using Piece = std::span<const std::byte>;

  /// Empty: there is no more. Valid until the next one. Errors: the system's.
  [[nodiscard]] Result<Piece> next() { return read_some(piece_); }
  /// The same of a part.
  [[nodiscard]] Result<Piece> next_of_part();

 private:
  [[nodiscard]] Result<Piece> read_some(std::span<std::byte> into) const;
  [[nodiscard]] Result<Piece> read_whole(std::size_t size);

  int from_;
  std::vector<std::byte> piece_;
};

/// Writes frames; ends the process where nobody takes them any more.
class ReaderOutput {
 public:
  explicit ReaderOutput(int to) : to_(to) {}

  /// As many frames as the text takes.
  void write(ReaderFrame kind, std::string_view text = {});
  void write_lines(std::string_view lines) {
    if (!lines.empty()) write(ReaderFrame::lines, lines);
  }

 private:
  void write_all(std::string_view bytes) const;

  int to_;
};

// A measurement on its way from a reader to the agent.

/// As JSON, in one frame. Nothing: it has more than a measurement that anybody has use for.
[[nodiscard]] std::optional<std::string> encode_measurement(const events::Measurement& measurement);

/// The reverse. Nothing where it is none, or has more than one that encode_measurement() has made.
[[nodiscard]] std::optional<events::Measurement> decode_measurement(std::string_view text);

// Exceptions and methods on their way from a reader to the command that has started it.

/// In one frame; of a message, and of a stack, what there is room for.
[[nodiscard]] std::string encode_exception(const events::ThrownException& thrown);
/// Reads it again. Nothing where the text is malformed.
[[nodiscard]] std::optional<events::ThrownException> decode_exception(std::string_view text);

/// Methods whose names are known, by their code.
class NamedMethods {
 public:
  struct Method {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  ///< Behind its last byte.
    profile::Frame frame;
  };

  /// One more. Where there is no room for it, it is left out.
  void add(Method method);
  /// Whose code is at the address; null where none is known. Valid until the next add().
  [[nodiscard]] const profile::Frame* find(std::uint64_t address) const;

 private:
  std::map<std::uint64_t, Method> by_begin_;
  std::size_t held_ = 0;
};

/// In one frame; of a name what there is room for.
[[nodiscard]] std::string encode_method(const NamedMethods::Method& method);
/// Reads it again. Nothing where the text is malformed.
[[nodiscard]] std::optional<NamedMethods::Method> decode_method(std::string_view text);

}  // namespace farport::router
