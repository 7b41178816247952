// ResumableStream: a Stream that survives the break of the session that carries it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "transport/http2/stream.hpp"
#include "transport/party.hpp"
#include "transport/stream.hpp"

namespace farport::transport {

/// Keeps the written bytes of a stream until the peer has acknowledged them, to send them again if the
/// connection breaks. Positions are byte offsets in the stream. Full buffers are kept as they are; smaller
/// ones are copied, so that few bytes don't pin a large buffer. Sending and acknowledging take time
/// proportional to the bytes sent or acknowledged, rewinding to the bytes kept.
class RetransmitBuffer {
 public:
  RetransmitBuffer() = default;
  RetransmitBuffer(const RetransmitBuffer&) = delete;
  RetransmitBuffer& operator=(const RetransmitBuffer&) = delete;

  /// Appends the bytes of a write. May take over the buffer that holds them.
  void keep(WriteOperation& operation);
  /// The next contiguous bytes to send; empty if all have been sent. They stay in place until they have been
  /// sent and acknowledged.
  [[nodiscard]] Chunk unsent() const;
  /// Marks `bytes` of them, at most all, as sent.
  void advance(std::size_t bytes);
  /// Forgets everything before `place`, but nothing that has not been sent: the peer may claim anything, and
  /// data that is being sent must stay.
  void acknowledge(std::uint64_t place);
  /// Sends again from `place` on, which must be neither acknowledged already nor beyond the end.
  void rewind(std::uint64_t place);
  /// Forgets everything. None of it may be being sent.
  void clear();

  /// Offset of the first byte that has not been acknowledged.
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  /// Offset of the first byte that has not been sent.
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// Memory used, in bytes. Many small writes use more than they hold.
  [[nodiscard]] std::uint64_t memory() const { return end_ - begin_ + pieces_.size() * kPieceBytes; }

 private:
  /// Cost of one Piece: its list node and allocations.
  static constexpr std::uint64_t kPieceBytes = 128;

  struct Piece {
    std::uint64_t place;  ///< Offset of its first byte.
    Chunk bytes;
    Buffer buffer;                      ///< Owns the bytes, unless
    std::unique_ptr<std::byte[]> copy;  ///< this copy does, with headroom in front.

    [[nodiscard]] std::uint64_t end() const { return place + bytes.size; }
  };
  using Pieces = std::list<Piece>;

  Pieces pieces_;
  Pieces::iterator next_ = pieces_.end();  ///< Holds the first byte that has not been sent.
  std::uint64_t begin_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t end_ = 0;
};

/// A Stream that continues where it was when the session that carries it breaks (docs/developers/wire.md,
/// "Resuming").
///
/// It runs over an HTTP/2 stream, its carrier. Written bytes are kept until the carrier reports that the peer
/// has them; received bytes are counted. When the carrier is lost, readers and writers wait until resume()
/// provides another one.
class ResumableStream final : public Stream, private TurnEndHook, private WriteOperation {
 public:
  /// Which side of the request this is. When the asking side ends its direction, it also tells whether it has
  /// read the whole answer. The answering side waits for that before it considers the end final.
  enum class Side { asks, answers };

  /// `account_of` provides the account in which kept data is counted. It is called once there is enough to
  /// count; most streams never keep so much. When the budget is exceeded, the stream may be aborted to make
  /// room.
  ResumableStream(Loop& loop, Side side, BufferBudget::LazyReservation::AccountOf account_of);
  ~ResumableStream() override;

  /// Asking side: the carrier's response is the requested answer, so read from it. Writing is possible
  /// before.
  void accept_answer();
  /// Continues over `carrier`: sends from offset `from` on, and skips the first `skip` bytes received, which
  /// have come before. Only for a stream that is new or waits for a carrier. Returns false, and changes
  /// nothing, if `from` has been acknowledged or not been written yet.
  bool resume(std::shared_ptr<Http2Stream> carrier, std::uint64_t from, std::uint64_t skip);
  /// Treats the carrier, if there is one, as lost.
  void detach();
  [[nodiscard]] const std::shared_ptr<Http2Stream>& carrier() const { return carrier_; }

  /// Set when the carrier has been lost and when the stream has ended for good. For one waiter.
  [[nodiscard]] Event& interrupted() { return interrupted_; }
  /// Whether it waits for a carrier.
  [[nodiscard]] bool waits() const { return carrier_ == nullptr && !over_; }
  /// Whether it has ended for good, by its peer or by abort().
  [[nodiscard]] bool over() const { return over_; }

  /// Whether there is something that the peer, who is there, has not taken yet.
  [[nodiscard]] bool write_waits() const { return carrier_ != nullptr && kept_.end() > kept_.begin(); }

  /// Whether the end of our direction has been written, though perhaps not sent.
  [[nodiscard]] bool finishing() const { return finish_wanted_; }

  /// Answering side: once our direction has been sent completely, tells the peer that no more of its data is
  /// wanted.
  void stop_reading();

  /// Bytes received from the peer, read or not. Only while there is no carrier.
  [[nodiscard]] std::uint64_t received() const { return received_; }
  /// Offset of the first byte that the peer may not have.
  [[nodiscard]] std::uint64_t acknowledged() const { return kept_.begin(); }

  Io try_read(std::span<std::byte> into) override;
  void when_readable(Wake* wake) override;
  bool begin_write(WriteOperation& operation) override;
  void cancel_write() override;
  /// Reports a peer that is gone for good; a lost carrier is not enough.
  void when_gone(Wake* wake) override;
  void abort(Error why) override;
  [[nodiscard]] const Error& error() const override { return *error_; }

 private:
  /// Forwards the carrier's notifications.
  class Hook final : public Wake {
   public:
    using Action = void (ResumableStream::*)();
    Hook(ResumableStream& owner, Action action) : owner_(owner), action_(action) {}
    void wake() override { (owner_.*action_)(); }

   private:
    ResumableStream& owner_;
    Action action_;
  };

  void end_of_tick() override;
  void count_kept();
  [[nodiscard]] std::uint64_t most_kept() const;
  void complete() override;
  void carrier_readable();
  void carrier_gone();
  void carrier_acknowledged();
  void acknowledge();
  void look_after_carrier();
  [[nodiscard]] bool end_is_known() const;
  void release_carrier();
  void send();
  [[nodiscard]] bool all_sent() const {
    return kept_.sent() == kept_.end() && (!finish_wanted_ || finish_sent_);
  }
  void write_on();
  void complete_write(IoStatus result);
  Io read_carrier(std::span<std::byte> into);
  void keep_unread();
  void end(Error why);

  Side side_;
  std::shared_ptr<Http2Stream> carrier_;
  Hook readable_hook_{*this, &ResumableStream::carrier_readable};
  Hook gone_hook_{*this, &ResumableStream::carrier_gone};
  Hook acknowledged_hook_{*this, &ResumableStream::carrier_acknowledged};
  Event interrupted_;

  RetransmitBuffer kept_;
  std::optional<BufferBudget::LazyReservation> counted_;  ///< For kept data; empty once it is over.
  std::uint64_t carried_from_ = 0;                        ///< Offset of the carrier's first byte.
  std::uint64_t sending_ = 0;                             ///< Bytes of ours in the carrier's pending write.
  bool write_pending_ = false;                            ///< At the carrier.
  bool acknowledged_more_ = false;                        ///< Beyond what the carrier had taken.
  bool finish_wanted_ = false;
  bool finish_sent_ = false;
  bool reading_stopped_ = false;
  WriteOperation* write_ = nullptr;

  std::vector<std::byte> inbound_;  ///< Data received on lost carriers.
  std::size_t inbound_read_ = 0;
  std::uint64_t received_ = 0;  ///< Without what the carrier still holds.
  std::uint64_t skip_ = 0;
  bool inbound_ended_ = false;

  Wake* read_wake_ = nullptr;
  Wake* gone_wake_ = nullptr;
  bool accepted_ = false;    ///< The carrier's response is the answer.
  bool confirming_ = false;  ///< The carrier has ended; a PING asks whether our end has arrived.
  bool over_ = false;
  BoxedError error_;
};

}  // namespace farport::transport
