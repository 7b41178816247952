// The sending side of an Http2Session, with its flow control and message heads.
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

/// How large the windows of a session's streams should be (RFC 9113 section 5.2). They should exceed the
/// network's bandwidth-delay product, so that a sender never waits for credit in flight, but not by much,
/// since the excess stays in queues.
///
/// PINGs measure it: the bytes that come until a PING is acknowledged are those of one round trip. The
/// shortest round trip is the network's own delay; in longer ones the PING waited behind other bytes, or for
/// a network that was away.
class Http2Window {
 public:
  using Clock = std::chrono::steady_clock;

  /// Window sizes stay between these, in bytes. If both are equal the size never changes.
  Http2Window(std::uint32_t smallest, std::uint32_t largest)
      : smallest_(smallest), largest_(largest), size_(smallest) {}

  /// Consumed bytes that are worth a WINDOW_UPDATE. Half of a window on a fast local network, where smaller
  /// updates gain little; less on a long one.
  [[nodiscard]] std::uint32_t credit_unit() const;
  /// Counts received body bytes. Returns true if it is time to measure: send a PING.
  [[nodiscard]] bool received(std::size_t bytes, Clock::time_point now);
  void ping_sent(Clock::time_point now);
  /// Whether the windows are as small as they get.
  [[nodiscard]] bool smallest() const { return size_ == smallest_; }
  /// The new window size, if it changes.
  [[nodiscard]] std::optional<std::uint32_t> ping_acknowledged(Clock::time_point now);

 private:
  /// Whether a standing queue delays the connection, which a single PING can't tell.
  struct Queue {
    /// Counts a PING that has (or has not) waited in a queue. Returns true when a standing queue is detected.
    bool is_new(bool seen);

    bool stands = false;
    int against = 0;  ///< PINGs in a row that contradict `stands`.
  };

  [[nodiscard]] std::optional<std::uint32_t> resize(double wanted);

  std::uint32_t smallest_;
  std::uint32_t largest_;
  std::uint32_t size_;
  bool measuring_ = false;
  Clock::time_point sent_at_{};
  Clock::duration round_trip_ = Clock::duration::max();  ///< The shortest one.
  std::uint64_t received_ = 0;                           ///< Since a PING was last sent or acknowledged.
  std::uint64_t since_ping_ = 0;                         ///< Since a PING was last sent.
  double last_product_ = 0;
  int quiet_ = 0;      ///< PINGs in a row with little traffic before them.
  int too_large_ = 0;  ///< PINGs in a row for which half of the window would do.
  Queue queue_;
};

/// The credit that both sides of a session give each other (RFC 9113 section 5.2).
class Http2FlowControl {
 public:
  /// Sizes of our streams' windows, in bytes. `session` must outlive this.
  Http2FlowControl(nghttp2_session* session, std::uint32_t smallest, std::uint32_t largest)
      : session_(session), window_(smallest, largest) {}

  // What the peer may send.
  /// Counts received bytes. Returns true if it is time to measure: send a PING.
  [[nodiscard]] bool received(std::size_t bytes);
  void ping_sent() { window_.ping_sent(Http2Window::Clock::now()); }
  /// Whether our windows are as small as they get.
  [[nodiscard]] bool smallest() const { return window_.smallest(); }
  /// Submits a new size of our windows if the measurement calls for it.
  void ping_acknowledged();
  /// The stream's reader has taken so many bytes. Sends WINDOW_UPDATE if enough have been consumed.
  void consumed(const Http2Stream& stream, std::size_t bytes);
  /// Gives credit for all bytes of the stream that have been read.
  void give_all_credit(const Http2Stream& stream) { give_credit(stream, 1); }

  // What we may send.
  /// How many of the `sent` bytes the stream's reader has certainly taken.
  [[nodiscard]] std::uint64_t acknowledged(const Http2Stream& stream, std::uint64_t sent) const;
  /// How many bytes the kernel should hold unsent for the peer.
  [[nodiscard]] std::size_t unsent() const;

 private:
  void give_credit(const Http2Stream& stream, std::int32_t at_least);
  [[nodiscard]] std::uint32_t peer_window() const;

  nghttp2_session* session_;
  Http2Window window_;
};

/// A header field as nghttp2 takes it. It refers to the strings. `flags`: NGHTTP2_NV_FLAG_…
[[nodiscard]] nghttp2_nv header_field(std::string_view name, std::string_view value,
                                      std::uint8_t flags = NGHTTP2_NV_FLAG_NONE);
/// All fields of a head, those in `first` before the others. They refer to the strings.
[[nodiscard]] std::vector<nghttp2_nv> header_list(std::initializer_list<nghttp2_nv> first,
                                                  const HeaderFields& fields);

/// Message heads (RFC 9113 section 8.1) that are being received, one at a time, and complete requests that
/// wait to be handed out.
class Http2Heads {
 public:
  /// A head whose fields exceed `most` bytes is too large (MessageHead::too_large).
  explicit Http2Heads(std::size_t most) : most_(most) {}

  /// Starts a request's head. Its stream is kept until take_requests().
  void begin(std::unique_ptr<Http2Stream> request);
  /// Adds a field. Returns 0, NGHTTP2_ERR_PAUSE when enough requests wait to be handed out, or an error that
  /// ends the session if the head is endless.
  int add_field(MessageHead& head, std::string_view name, std::string_view value);
  /// Ends the head under way. Returns its size in bytes.
  std::size_t end() { return std::exchange(bytes_, 0); }
  /// Whether `stream` is the request whose head is being received.
  [[nodiscard]] bool receives(const Http2Stream& stream) const { return receiving_.get() == &stream; }
  /// Queues that request to be handed out.
  void request_received() { requests_.push_back(std::move(receiving_)); }
  /// Drops that request.
  void drop() { receiving_.reset(); }

  /// Whether nghttp2 was told to pause. It may then hold more input.
  [[nodiscard]] bool paused() const { return paused_; }
  /// Lets nghttp2 go on.
  void resume() { paused_ = false; }
  [[nodiscard]] std::vector<std::unique_ptr<Http2Stream>> take_requests() {
    return std::exchange(requests_, {});
  }
  /// Whether nothing is being received or waits to be handed out.
  [[nodiscard]] bool empty() const { return receiving_ == nullptr && requests_.empty(); }

 private:
  std::size_t most_;
  std::size_t bytes_ = 0;  ///< Received so far of the current head.
  std::unique_ptr<Http2Stream> receiving_;
  std::vector<std::unique_ptr<Http2Stream>> requests_;
  bool paused_ = false;
};

/// Decides which bytes are written when. Small frames are collected into one record; a large payload is
/// written in place, with its frame header in the headroom.
class Http2Output final : private WriteOperation {
 public:
  /// Writes to `lower`. Once a pending write there is done, defers `session`'s end_of_tick(). Both must
  /// outlive this.
  Http2Output(Stream& lower, TurnEndHook& session) : lower_(lower), session_(session) {}
  Http2Output(const Http2Output&) = delete;
  Http2Output& operator=(const Http2Output&) = delete;
  ~Http2Output() { stop(); }

  /// Writes what nghttp2 has to send, until the lower stream is full. Returns false if out of memory.
  [[nodiscard]] bool send_all(nghttp2_session* session);
  /// Whether a write to the lower stream is pending.
  [[nodiscard]] bool pending() const { return pending_; }
  /// Ends our direction of the lower stream, unless a write is pending, so that the peer knows that it has
  /// everything.
  void half_close();
  /// Copies what is unwritten of this stream's payload, which won't stay where it is.
  void release(const Http2Stream& stream);
  /// The same, whichever stream the pending payload belongs to.
  void release_all();
  /// Cancels the pending write; all streams are over.
  void stop();

  // Called by nghttp2's callbacks.
  /// Takes whole frames other than DATA. Returns the number of bytes taken, or NGHTTP2_ERR_WOULDBLOCK.
  ssize_t collect(std::span<const std::byte> frames);
  /// Sends a DATA frame (RFC 9113 section 6.1) with the next `size` bytes of the stream's write. Returns 0 or
  /// NGHTTP2_ERR_WOULDBLOCK.
  int send_data(nghttp2_session* session, Http2Stream& stream, const std::uint8_t* frame_header,
                std::size_t size);

 private:
  /// Payload bytes that a frame header overwrote, to be restored after the write.
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
  TurnEndHook& session_;
  std::vector<std::byte> collected_;  ///< Small frames, to be sent in one record.
  std::vector<std::byte> kept_;       ///< Bytes of the pending write that nobody else keeps.
  bool pending_ = false;
  bool held_back_ = false;            ///< The last write may wait for more (MSG_MORE).
  Http2Stream* in_flight_ = nullptr;  ///< The stream whose bytes are written in place.
  Displaced displaced_;
};

}  // namespace farport::transport
