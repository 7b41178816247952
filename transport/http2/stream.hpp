// Http2Stream: one HTTP/2 stream (RFC 9113 section 5) as a Stream. A request or its answer is the head that
// comes first; the body is what is read and written.
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

/// What stands before a body: a request's method and path, or an answer's status.
struct MessageHead {
  std::string method;
  std::string path;
  std::string authority;
  int status = 0;
  HeaderFields fields;
  bool too_large = false;  ///< Beyond Http2Limits::head_bytes: what came later has been left out.

  /// The value of the first field with this name; empty where there is none.
  [[nodiscard]] std::string_view field(std::string_view name) const;
};

/// The connection as its streams see it: what they have done there.
class Http2Connection {
 public:
  [[nodiscard]] virtual bool is_server() const = 0;
  /// Counts what the connection keeps.
  [[nodiscard]] virtual BufferBudget::Account& account() const = 0;
  /// The stream has something to write.
  virtual void write_waits(Http2Stream& stream) = 0;
  /// The bytes of the stream's write won't stay where they are.
  virtual void write_cancelled(Http2Stream& stream) = 0;
  /// So many bytes have been read.
  virtual void consumed(Http2Stream& stream, std::size_t bytes) = 0;
  virtual void submit_response(Http2Stream& stream, int status, const HeaderFields& fields, bool body) = 0;
  virtual void submit_trailer(Http2Stream& stream, std::string_view name, std::string_view value) = 0;
  /// See Http2Stream::stop_reading().
  virtual void stop_request(Http2Stream& stream) = 0;
  /// The stream leaves; what is left of it is reset with this code (RFC 9113 section 7).
  virtual void forget(Http2Stream& stream, std::uint32_t error_code) = 0;
  /// See Http2Stream::acknowledged().
  [[nodiscard]] virtual std::uint64_t acknowledged(const Http2Stream& stream) const = 0;
  /// Asks whether all that has been sent has arrived. Returns the PING's number whose acknowledgement says
  /// so.
  virtual std::uint64_t ask_whether_arrived() = 0;

 protected:
  ~Http2Connection() = default;
};

/// Owned by its user. Destroying it before both directions have ended resets the stream.
class Http2Stream final : public Stream, private ListNode {
 public:
  Http2Stream(Loop& loop, Http2Connection& connection, std::int32_t id);
  ~Http2Stream() override;

  /// Its number in the connection (RFC 9113 section 5.1.1).
  [[nodiscard]] std::int32_t id() const { return id_; }
  /// The peer's head: on a server there from the start, on a client once head_received() has passed.
  [[nodiscard]] const MessageHead& head() const { return head_; }
  /// The same, to keep: head() has only what comes after it then, such as a trailer.
  [[nodiscard]] MessageHead take_head() { return std::exchange(head_, {}); }
  /// Passes when the answer's head has come (ok), or never will (failed).
  Task<IoStatus> head_received();
  /// Sends an answer's head; with `body` the stream is then written to and finished, otherwise it ends here.
  void respond(int status, const HeaderFields& fields, bool body);
  /// Sends a whole answer: head and body, then ends this direction.
  Task<void> respond(int status, std::string content_type, std::string body);
  /// Has this direction end with a trailer of one field (RFC 9113 section 8.1), which the peer finds in its
  /// head(). Both must outlive the stream.
  void end_with(std::string_view name, std::string_view value) { trailer_ = {name, value}; }

  /// On a server, for an answer that has been sent to its end: tells the peer that the rest of its request is
  /// not wanted (RFC 9113 section 8.1). Both directions have then ended.
  void stop_reading();

  /// Counts so many bytes that are kept because of this stream, such as an answer that waits to be sent, in
  /// place of what was counted in this way before.
  void count_kept(std::size_t bytes);
  /// How many bytes have come that nobody has read.
  [[nodiscard]] std::size_t unread() const { return inbound_.size() - inbound_read_; }
  /// How much of what was written the peer's reader has surely taken, in bytes: it has given credit for as
  /// much (RFC 9113 section 5.2). 0 once the stream has ended.
  [[nodiscard]] std::uint64_t acknowledged() const;
  /// Calls wake.wake() each time when acknowledged() has risen.
  void when_acknowledged(Wake* wake) { acknowledged_wake_ = wake; }
  /// Whether the stream is over, in whichever way.
  [[nodiscard]] bool closed() const { return connection_ == nullptr; }
  [[nodiscard]] bool failed() const { return failed_; }
  /// Whether it has failed because the session's connection broke: the peer did not end it.
  [[nodiscard]] bool lost() const { return lost_; }

  /// For a stream that both sides have ended: asks whether the peer has got our end (with a PING, RFC 9113
  /// section 6.7). Calls wake.wake() once end_confirmed(), or lost() if the connection broke before.
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

  // What the session tells of its peer.
  void received(std::span<const std::byte> bytes);
  void received_end();
  void received_head();
  void closed(Error why, bool clean);

  void hold();
  void fail(Error why);
  /// So much of the write under way has been put into a frame, which ends the stream or doesn't. Whether all
  /// of the write has.
  bool sent(std::size_t bytes, bool ends);
  [[nodiscard]] bool all_sent() const;
  void complete_write(IoStatus status);
  void end_known(bool lost);
  /// False where there is none, or it has been submitted.
  bool submit_trailer();

  Http2Connection* connection_;  ///< nullptr once the stream is closed or the session is gone.
  std::int32_t id_;
  MessageHead head_;
  bool head_complete_ = false;
  Event head_event_;

  std::vector<std::byte> inbound_;
  std::size_t inbound_read_ = 0;  ///< How much of inbound_ has been read.
  bool inbound_ended_ = false;
  std::unique_ptr<BufferBudget::Holding> holding_;  ///< Once there is something.
  std::size_t counted_kept_ = 0;                    ///< Bytes.

  WriteOperation* write_ = nullptr;
  bool outbound_ended_ = false;
  std::pair<std::string_view, std::string_view> trailer_;
  std::uint64_t sent_ = 0;  ///< Bytes of the body that have been put into frames.

  Wake* read_wake_ = nullptr;
  Wake* gone_wake_ = nullptr;
  Wake* acknowledged_wake_ = nullptr;
  Wake* confirmed_wake_ = nullptr;
  Http2Connection* ended_in_ = nullptr;  ///< In which both sides have ended it, while there is one.
  std::uint64_t confirmed_by_ = 0;       ///< The PING whose acknowledgement confirms our end.
  bool end_confirmed_ = false;
  bool lost_ = false;
  bool failed_ = false;
  BoxedError error_;
};

}  // namespace farport::transport
