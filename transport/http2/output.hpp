// Http2Output: the way out of an Http2Session: which bytes are written when, and where they lie meanwhile.
// Small frames are collected into one record; a large payload is written where it lies, its frame header in
// the headroom.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "transport/http2/stream.hpp"

namespace farport::transport {

// Http2FlowControl: the credit that both sides of a session give each other (RFC 9113 section 5.2).

/// How large the windows of a session's streams should be (RFC 9113 section 5.2): more than what the network
/// holds, its bandwidth-delay product, so that a sender never waits for credit that is on its way. Not much
/// more where what the network doesn't hold stays in the queues in front of it.
/// Measures by PINGs: what comes until one is acknowledged is what comes in a round trip. The network's own
/// delay is the shortest of those round trips; longer ones have waited behind what was sent before them, or
/// for a network that was away.
class Http2Window {
 public:
  using Clock = std::chrono::steady_clock;

  /// Between these sizes, in bytes; equal ones never change.
  Http2Window(std::uint32_t smallest, std::uint32_t largest)
      : smallest_(smallest), largest_(largest), size_(smallest) {}

  /// How much must have been read to be worth credit before half of the window is: next door little would be
  /// gained by that.
  [[nodiscard]] std::uint32_t credit_unit() const;
  /// Body bytes have come. True: much has, and no PING is under way that would measure it. Send one.
  [[nodiscard]] bool received(std::size_t bytes, Clock::time_point now);
  void ping_sent(Clock::time_point now);
  /// The size from now on, if it changes.
  [[nodiscard]] std::optional<std::uint32_t> ping_acknowledged(Clock::time_point now);

 private:
  /// Whether what is under way stands in a queue, which single PINGs don't tell.
  struct Queue {
    /// A PING has waited in one, or not. True: one stands, as is known now.
    bool is_new(bool seen);

    bool stands = false;
    int against = 0;  ///< PINGs in a row that say otherwise.
  };

  [[nodiscard]] std::optional<std::uint32_t> resize(double wanted);

  std::uint32_t smallest_;
  std::uint32_t largest_;
  std::uint32_t size_;
  bool measuring_ = false;
  Clock::time_point sent_at_{};
  Clock::duration round_trip_ = Clock::duration::max();  ///< The shortest.
  std::uint64_t received_ = 0;                           ///< Since a PING was last sent or acknowledged.
  std::uint64_t since_ping_ = 0;                         ///< Since one was last sent.
  double last_product_ = 0;
  int quiet_ = 0;      ///< PINGs in a row before which little came.
  int too_large_ = 0;  ///< PINGs in a row for which half of the window would do.
  Queue queue_;
};

class Http2FlowControl {
 public:
  /// Our streams' windows are between these sizes, in bytes. `session` must outlive this.
  Http2FlowControl(nghttp2_session* session, std::uint32_t smallest, std::uint32_t largest)
      : session_(session), window_(smallest, largest) {}

  // What the peer may send.
  /// Bytes have come. True: send a PING, which measures the network.
  [[nodiscard]] bool received(std::size_t bytes);
  void ping_sent() { window_.ping_sent(Http2Window::Clock::now()); }
  /// Submits another size of our windows if that is called for.
  void ping_acknowledged();
  /// The stream's reader has taken so many bytes: gives credit for what has been read, if it is worth it.
  void consumed(const Http2Stream& stream, std::size_t bytes);
  /// Gives credit for all that has been read of the stream.
  void give_all_credit(const Http2Stream& stream) { give_credit(stream, 1); }

  // What we may send.
  /// How much of what has been sent on a stream its reader has surely taken, in bytes.
  [[nodiscard]] std::uint64_t acknowledged(const Http2Stream& stream, std::uint64_t sent) const;
  /// How much the kernel should hold unsent for the peer, in bytes.
  [[nodiscard]] std::size_t unsent() const;

 private:
  void give_credit(const Http2Stream& stream, std::int32_t at_least);
  [[nodiscard]] std::uint32_t peer_window() const;

  nghttp2_session* session_;
  Http2Window window_;
};

// The heads of an HTTP/2 session's messages (RFC 9113 section 8.1): those that come, field by field, and
// those that are sent.

/// A header field as nghttp2 takes it. It refers to the strings. `flags`: NGHTTP2_NV_FLAG_…
[[nodiscard]] nghttp2_nv header_field(std::string_view name, std::string_view value,
                                      std::uint8_t flags = NGHTTP2_NV_FLAG_NONE);
/// All fields of a head: those of the protocol first. They refer to the strings.
[[nodiscard]] std::vector<nghttp2_nv> header_list(std::initializer_list<nghttp2_nv> first,
                                                  const HeaderFields& fields);

/// The heads that are being received, one at a time, and the requests that have come whole and wait to be
/// handed out.
class Http2Heads {
 public:
  /// A head with more than `most` bytes in its fields is too large (MessageHead::too_large).
  explicit Http2Heads(std::size_t most) : most_(most) {}

  /// A request's head begins to come. Its stream is kept until take_requests().
  void begin(std::unique_ptr<Http2Stream> request);
  /// Adds a field: 0; NGHTTP2_ERR_PAUSE where enough requests wait to be handed out; or an error that ends
  /// the session, for a head that goes on and on.
  int add_field(MessageHead& head, std::string_view name, std::string_view value);
  /// A head has come whole. Returns its size in bytes.
  std::size_t end() { return std::exchange(bytes_, 0); }
  /// Whether `stream` is the request whose head is being received.
  [[nodiscard]] bool receives(const Http2Stream& stream) const { return receiving_.get() == &stream; }
  /// That request waits to be handed out from now on.
  void request_received() { requests_.push_back(std::move(receiving_)); }
  /// Gives that request up.
  void drop() { receiving_.reset(); }

  /// Whether nghttp2 has been told to pause: there may be more in what it was given.
  [[nodiscard]] bool paused() const { return paused_; }
  /// nghttp2 goes on.
  void resume() { paused_ = false; }
  [[nodiscard]] std::vector<std::unique_ptr<Http2Stream>> take_requests() {
    return std::exchange(requests_, {});
  }
  /// Whether nothing is being received or waits to be handed out.
  [[nodiscard]] bool empty() const { return receiving_ == nullptr && requests_.empty(); }

 private:
  std::size_t most_;
  std::size_t bytes_ = 0;  ///< Received of the head under way.
  std::unique_ptr<Http2Stream> receiving_;
  std::vector<std::unique_ptr<Http2Stream>> requests_;
  bool paused_ = false;
};

class Http2Output final : private WriteOperation {
 public:
  /// Writes to `lower`. When what was pending there has been taken, `session` has its turn end. Both must
  /// outlive this.
  Http2Output(Stream& lower, EndOfTick& session) : lower_(lower), session_(session) {}
  Http2Output(const Http2Output&) = delete;
  Http2Output& operator=(const Http2Output&) = delete;
  ~Http2Output() { stop(); }

  /// Writes out what nghttp2 has to send, as far as the lower stream takes it. False: out of memory.
  [[nodiscard]] bool send_all(nghttp2_session* session);
  /// Whether the lower stream still has to take something.
  [[nodiscard]] bool pending() const { return pending_; }
  /// Ends our direction properly, unless something is pending: the peer then knows that nothing is missing.
  void say_farewell();
  /// The bytes of this stream's write won't stay where they are.
  void release(const Http2Stream& stream);
  /// The same for whichever stream's bytes are on their way.
  void release_all();
  /// Forgets what is pending: the streams are over.
  void stop();

  // From nghttp2, as its callbacks want it.
  /// Whole frames without a body's payload. How many bytes were taken, or NGHTTP2_ERR_WOULDBLOCK.
  ssize_t collect(std::span<const std::byte> frames);
  /// A DATA frame (RFC 9113 section 6.1) with the next `size` bytes of the stream's write: 0, or
  /// NGHTTP2_ERR_WOULDBLOCK.
  int send_data(nghttp2_session* session, Http2Stream& stream, const std::uint8_t* frame_header,
                std::size_t size);

 private:
  /// What a frame header was put over, in a payload that is written where it lies.
  struct Displaced {
    std::byte* place = nullptr;
    std::array<std::byte, kHeadroom> bytes{};

    void put_header(std::byte* at, const std::uint8_t* header);
    void put_back();
  };

  void complete() override;
  int send_collected(const std::uint8_t* frame_header, const Chunk& payload, std::size_t size);
  int send_in_place(nghttp2_session* session, Http2Stream& stream, const std::uint8_t* frame_header,
                    std::size_t size);
  [[nodiscard]] bool has_room_for(std::size_t bytes) const;
  bool write_collected(bool more_follows);
  bool write_lower(Chunk bytes, bool more_follows);

  Stream& lower_;
  EndOfTick& session_;
  std::vector<std::byte> collected_;  ///< Small frames, on their way into one record.
  std::vector<std::byte> kept_;       ///< What the pending write takes, where nobody else keeps it.
  bool pending_ = false;
  bool held_back_ = false;            ///< What was written last may be waiting for more.
  Http2Stream* in_flight_ = nullptr;  ///< Whose bytes the pending write takes in place.
  Displaced displaced_;
};

}  // namespace farport::transport
