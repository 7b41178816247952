// The protocol between a reader and the process that reads its answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "events/exceptions.hpp"
#include "events/lines.hpp"
#include "events/measurements.hpp"
#include "profile/profile.hpp"

namespace farport::router {

/// The kinds of frames that a reader sends. A frame is its kind, four bytes of length (little-endian), and
/// that many bytes.
enum class ReaderFrame : char {
  lines = 'l',        ///< Lines of the answer.
  file = 'w',         ///< A file beside the answer's lines. An empty frame ends it.
  measurement = 'v',  ///< One measurement: see encode_measurement().
  exception = 'x',    ///< One exception: see encode_exception().
  incident = 'i',     ///< What has fitted a pattern: see Incident.
  method = 'd',       ///< One method: see encode_method().
  notice = 't',       ///< A message from the runtime, for a person.
  enough = 'n',       ///< The recording may be stopped.
  failure = 'f',      ///< Why there is no answer: see encode_failure(). Nothing follows.
  memory = 'm',       ///< The reader has run out of memory. Nothing follows.
  end = 'e',          ///< The answer is complete. Nothing follows.
};
inline constexpr std::size_t kFrameHead = 5;
/// The length before each piece of a part (see Reading::pass_on()): four bytes, little-endian. A length of 0
/// ends the part.
inline constexpr std::size_t kPieceHead = 4;
inline constexpr std::size_t kMaxPiece = 32 * 1024;
inline constexpr std::size_t kMaxFrame = 64 * 1024;
/// How many notices of a runtime are passed on, and how much of each.
inline constexpr std::size_t kMaxNotices = events::kMaxNotices + 1;
inline constexpr std::size_t kMaxNoticeBytes = 256;

/// Encodes an error without its cause, to be shown to a person.
[[nodiscard]] std::string encode_failure(const Error& error);
/// Decodes any text. Each part of the result is cut to a limited length.
[[nodiscard]] Error decode_failure(std::string_view text);

/// The reader's side of its input.
class ReaderInput {
 public:
  explicit ReaderInput(int from);

  using Piece = std::span<const std::byte>;

  /// The next bytes; empty at the end. They are valid until the next call. Errors: the system's.
  [[nodiscard]] Result<Piece> next() { return read_some(piece()); }
  /// Waits until there are bytes or the end, or the time is over. Returns whether there are.
  [[nodiscard]] bool wait(std::chrono::milliseconds longest) const;
  /// The next piece of a part; empty at the end of the part. Otherwise the same.
  [[nodiscard]] Result<Piece> next_of_part();

 private:
  [[nodiscard]] std::span<std::byte> piece() const;
  [[nodiscard]] Result<Piece> read_some(std::span<std::byte> into) const;
  [[nodiscard]] Result<Piece> read_whole(std::size_t size);

  int from_;
  std::unique_ptr<std::byte[]> piece_;  ///< Not cleared: a reader of little touches little of it.
};

/// Writes frames. Ends the process if nobody takes them any more.
class ReaderOutput {
 public:
  explicit ReaderOutput(int to) : to_(to) {}

  /// Writes the text in as many frames as it needs.
  void write(ReaderFrame kind, std::string_view text = {});
  void write_lines(std::string_view lines) {
    if (!lines.empty()) write(ReaderFrame::lines, lines);
  }
  /// The same for an answer that is no text.
  void write_bytes(std::span<const std::byte> bytes) {
    write_lines(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

 private:
  int to_;
};

/// Encodes a measurement as JSON, for one frame. Returns nothing if it is larger than anybody could use, or
/// has no finite value.
[[nodiscard]] std::optional<std::string> encode_measurement(const events::Measurement& measurement);

/// Decodes a measurement. Returns nothing if the text is malformed, or larger than what encode_measurement()
/// makes.
[[nodiscard]] std::optional<events::Measurement> decode_measurement(std::string_view text);

/// Encodes an exception for one frame. Cuts its message and its stack if they are too long.
[[nodiscard]] std::string encode_exception(const events::ThrownException& thrown);
/// Decodes it. Returns nothing if the text is malformed.
[[nodiscard]] std::optional<events::ThrownException> decode_exception(std::string_view text);

/// The names of methods, by the addresses of their code.
class NamedMethods {
 public:
  struct Method {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  ///< One beyond its last byte.
    profile::Frame frame;
  };

  /// Adds a method, unless its name would take too much memory.
  void add(Method method);
  /// The method whose code is at this address, or null. It is valid until the next add().
  [[nodiscard]] const profile::Frame* find(std::uint64_t address) const;

 private:
  std::map<std::uint64_t, Method> by_begin_;
  std::size_t held_ = 0;
};

/// Encodes a method for one frame. Cuts its name if it is too long.
[[nodiscard]] std::string encode_method(const NamedMethods::Method& method);
/// Decodes it. Returns nothing if the text is malformed.
[[nodiscard]] std::optional<NamedMethods::Method> decode_method(std::string_view text);

}  // namespace farport::router
