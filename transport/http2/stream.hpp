// Http2Stream: one HTTP/2 stream (RFC 9113 section 5) as a Stream of the body, after the message's head.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transport/event.hpp"
#include "transport/party.hpp"
#include "transport/stream.hpp"

namespace farport::transport {

class Http2Stream;

/// Header fields in the order in which they came. Names are lower case (RFC 9113 section 8.2).
using HeaderFields = std::vector<std::pair<std::string, std::string>>;

/// The head of a message: a request's method and path, or an answer's status, and header fields.
struct MessageHead {
  std::string method;
  std::string path;
  std::string authority;
  int status = 0;
  HeaderFields fields;
  bool too_large = false;  ///< Exceeded Http2Limits::head_bytes; later fields are dropped.

  /// The value of the first field with this name; empty if there is none.
  [[nodiscard]] std::string_view field(std::string_view name) const;
};

/// The session as its streams know it: session.hpp includes this file, so that this one can't include it.
class Http2Connection {
 public:
  [[nodiscard]] virtual bool is_server() const = 0;
  /// The account for the memory that the stream holds.
  [[nodiscard]] virtual BufferBudget::Account& account() const = 0;
  /// The stream has something to write.
  virtual void write_waits(Http2Stream& stream) = 0;
  /// The bytes of the stream's pending write are about to be freed.
  virtual void write_cancelled(Http2Stream& stream) = 0;
  /// The stream's reader has taken so many bytes.
  virtual void consumed(Http2Stream& stream, std::size_t bytes) = 0;
  virtual void submit_response(Http2Stream& stream, int status, const HeaderFields& fields, bool body) = 0;
  virtual void submit_trailer(Http2Stream& stream, std::string_view name, std::string_view value) = 0;
  /// See Http2Stream::stop_reading().
  virtual void stop_request(Http2Stream& stream) = 0;
  /// The stream's user has dropped it; reset it with this code if it is still open (RFC 9113 section 7).
  virtual void forget(Http2Stream& stream, std::uint32_t error_code) = 0;
  /// See Http2Stream::acknowledged().
  [[nodiscard]] virtual std::uint64_t acknowledged(const Http2Stream& stream) const = 0;
  /// Sends a PING. Once the PING with the returned number is acknowledged, everything sent before has
  /// arrived.
  virtual std::uint64_t ping_for_delivery() = 0;

 protected:
  ~Http2Connection() = default;
};

/// Owned by its user. Destroying it before both directions have ended resets the stream.
class Http2Stream final : public Stream, private ListNode {
 public:
  Http2Stream(Loop& loop, Http2Connection& session, std::int32_t id);
  ~Http2Stream() override;

  /// Its number in the connection (RFC 9113 section 5.1.1).
  [[nodiscard]] std::int32_t id() const { return id_; }
  /// The peer's head. Complete from the start on a server, and once head_received() has passed on a client.
  [[nodiscard]] const MessageHead& head() const { return head_; }
  /// Moves the head out. head() then holds only later fields, such as a trailer.
  [[nodiscard]] MessageHead take_head() { return std::exchange(head_, {}); }
  /// Waits for the answer's head: ok, or failed if it will never come.
  Task<IoStatus> head_received();
  /// Sends an answer's head. With `body`, the caller then writes to the stream and finishes it; otherwise it
  /// ends.
  void respond(int status, const HeaderFields& fields, bool body);
  /// Ends this direction with a trailer of one field (RFC 9113 section 8.1), which the peer finds in head().
  /// Both strings must outlive the stream.
  void set_trailer(std::string_view name, std::string_view value) { trailer_ = {name, value}; }

  /// On a server, after a complete answer: tells the peer that the rest of its request is not wanted (RFC
  /// 9113 section 8.1). Both directions have then ended.
  void stop_reading();

  /// Sets how many bytes are held because of this stream, such as an answer that waits to be sent.
  void count_kept(std::size_t bytes);
  /// Whether a write waits until the peer takes more.
  [[nodiscard]] bool write_waits() const { return write_ != nullptr; }
  /// Bytes of the body that have been put into frames.
  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_; }
  /// How many received bytes nobody has read.
  [[nodiscard]] std::size_t unread() const { return inbound_.size() - inbound_read_; }
  /// How many written bytes the peer's reader has certainly taken, judged by its credit (RFC 9113 section
  /// 5.2). 0 once the stream has ended.
  [[nodiscard]] std::uint64_t acknowledged() const;
  /// Calls wake.wake() each time acknowledged() has risen.
  void when_acknowledged(Wake* wake) { acknowledged_wake_ = wake; }
  /// Whether the stream is over, for whatever reason.
  [[nodiscard]] bool closed() const { return session_ == nullptr; }
  [[nodiscard]] bool failed() const { return failed_; }
  /// Whether it failed because the session's connection broke, rather than by the peer's choice.
  [[nodiscard]] bool lost() const { return lost_; }

  /// For a stream that both sides have ended: asks by a PING (RFC 9113 section 6.7) whether the peer has our
  /// end. Calls wake.wake() once, when end_confirmed() or lost() is known.
  void confirm_end(Wake& wake);
  [[nodiscard]] bool end_confirmed() const { return end_confirmed_; }

  Io try_read(std::span<std::byte> into) override;
  void when_readable(Wake* wake) override;
  bool begin_write(WriteOperation& operation) override;
  void cancel_write() override;
  void when_gone(Wake* wake) override;
  void abort(Error why) override;
  [[nodiscard]] const Error& error() const override { return *error_; }

 private:
  friend class Http2Session;
  friend class Http2Streams;
  friend class Http2Output;
  friend struct Http2Callbacks;

  // Called by the session.
  void received(std::span<const std::byte> bytes);
  void received_end();
  void received_head();
  void closed(Error why, bool clean);

  void hold();
  void fail(Error why);
  /// Records that `bytes` of the current write are in a frame, which `ends` the stream or not. Returns
  /// whether the whole write is sent.
  bool sent(std::size_t bytes, bool ends);
  [[nodiscard]] bool all_sent() const;
  void complete_write(IoStatus status);
  void end_known(bool lost);
  /// Returns false if there is no trailer or it has been submitted already.
  bool submit_trailer();

  Http2Connection* session_;  ///< nullptr once the stream is closed or the session is gone.
  std::int32_t id_;
  MessageHead head_;
  bool head_complete_ = false;
  Event head_event_;

  std::vector<std::byte> inbound_;
  std::size_t inbound_read_ = 0;  ///< How much of inbound_ has been read.
  bool inbound_ended_ = false;
  std::unique_ptr<BufferBudget::Reservation> reservation_;  ///< Made when there is something to count.
  std::size_t counted_kept_ = 0;                            ///< Bytes.

  WriteOperation* write_ = nullptr;
  bool outbound_ended_ = false;
  std::pair<std::string_view, std::string_view> trailer_;
  std::uint64_t sent_ = 0;

  Wake* read_wake_ = nullptr;
  Wake* gone_wake_ = nullptr;
  Wake* acknowledged_wake_ = nullptr;
  Wake* confirmed_wake_ = nullptr;
  Http2Connection* ended_in_ = nullptr;  ///< The session, after both sides have ended the stream.
  std::uint64_t confirmed_by_ = 0;       ///< The PING whose acknowledgement confirms our end.
  bool end_confirmed_ = false;
  bool lost_ = false;
  bool failed_ = false;
  BoxedError error_;
};

}  // namespace farport::transport
