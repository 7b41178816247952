// ResumableStream: a Stream that goes on where it was when the session that carries it breaks and another
// one takes its place (docs/wire.md, "Resuming").
//
// It runs over an HTTP/2 stream, its carrier. What has been written is kept until the carrier says that the
// peer has it; what has come is counted. When the carrier is lost, readers and writers just wait until
// resume() gives the stream another one.
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

/// What a sender keeps until it knows that the peer has it, to send it again if the connection breaks.
/// Bytes of a stream by their place in it, from the first that has not been acknowledged to the last that
/// has been written. Full buffers are kept as they are; less is copied, so that little bytes don't hold large
/// buffers. Sending and acknowledging take a time in proportion to what is sent or acknowledged, however much
/// is kept; rewinding, to what is kept.
class RetransmitBuffer {
 public:
  RetransmitBuffer() = default;
  RetransmitBuffer(const RetransmitBuffer&) = delete;
  RetransmitBuffer& operator=(const RetransmitBuffer&) = delete;

  /// Keeps the bytes of a write at the end. May take the buffer away that holds them.
  void keep(WriteOperation& operation);
  /// The next bytes to be sent that lie in one piece. They stay where they are until they have been sent and
  /// acknowledged. Empty where all has been sent.
  [[nodiscard]] Chunk unsent() const;
  /// So many of them, at most all, have been sent.
  void advance(std::size_t bytes);
  /// Forgets what comes before this place, but nothing that has not been sent: a peer may say what it likes,
  /// and what is being sent must stay.
  void acknowledge(std::uint64_t place);
  /// Sends from this place on, which must not have been acknowledged, nor be beyond the end.
  void rewind(std::uint64_t place);
  /// Forgets everything. Nothing of it may be being sent.
  void clear();

  /// The first byte that has not been acknowledged.
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  /// The first byte that has not been sent.
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// What it takes, in bytes: many small writes take more than what they hold.
  [[nodiscard]] std::uint64_t memory() const { return end_ - begin_ + pieces_.size() * kPieceBytes; }

 private:
  /// A piece's place in the list and its allocations.
  static constexpr std::uint64_t kPieceBytes = 128;

  struct Piece {
    std::uint64_t place;  ///< Of its first byte.
    Chunk bytes;
    Buffer buffer;                      ///< That they are in, or
    std::unique_ptr<std::byte[]> copy;  ///< with headroom in front.

    [[nodiscard]] std::uint64_t end() const { return place + bytes.size; }
  };
  using Pieces = std::list<Piece>;

  Pieces pieces_;
  Pieces::iterator next_ = pieces_.end();  ///< With the first byte that has not been sent.
  std::uint64_t begin_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t end_ = 0;
};

class ResumableStream final : public Stream, private EndOfTick, private WriteOperation {
 public:
  /// Which side of the request this is. The side that asks tells with the end of its direction whether it has
  /// read the answer to its end; the side that answers waits for that before it takes the end for good.
  enum class Side { asks, answers };

  /// What is kept for the peer is counted in an account, which is asked for once there is enough to count:
  /// most streams never keep so much. A stream may be aborted for keeping most in the account that keeps
  /// most, beyond its budget.
  ResumableStream(Loop& loop, Side side, BufferBudget::LateHolding::AccountOf account_of);
  ~ResumableStream() override;

  /// Lets the side that asks read from its carrier: its answer is what was asked for. It may write before.
  void accept_answer();
  /// Goes on over `carrier`, to which is written from the byte at `from` on, and the first `skip` bytes of
  /// which have come already. For a stream that waits for one, or is new. False: `from` has been acknowledged
  /// or never been written; nothing has changed then.
  bool resume(std::shared_ptr<Http2Stream> carrier, std::uint64_t from, std::uint64_t skip);
  /// Takes the carrier for lost, if there is one.
  void detach();
  [[nodiscard]] const std::shared_ptr<Http2Stream>& carrier() const { return carrier_; }

  /// Set when the carrier has been lost, and when the stream has ended for good. For one waiter.
  [[nodiscard]] Event& interrupted() { return interrupted_; }
  /// Whether it waits for a carrier.
  [[nodiscard]] bool waits() const { return carrier_ == nullptr && !over_; }
  /// Whether it has ended for good: by its peer, or by abort().
  [[nodiscard]] bool over() const { return over_; }

  /// Whether our direction's end has been written, though perhaps not sent.
  [[nodiscard]] bool finishing() const { return finish_wanted_; }

  /// On the side that answers: tells the peer, as soon as our direction has been sent to its end, that
  /// nothing more is wanted of its own.
  void stop_reading();

  /// Bytes that have come from the peer, whether they have been read or not. While there is no carrier.
  [[nodiscard]] std::uint64_t received() const { return received_; }
  /// The first byte that the peer may not have.
  [[nodiscard]] std::uint64_t acknowledged() const { return kept_.begin(); }

  Io try_read(std::span<std::byte> into) override;
  void when_readable(Wake* wake) override;
  bool begin_write(WriteOperation& operation) override;
  void cancel_write() override;
  /// The peer is gone for good: a lost carrier is not enough.
  void when_gone(Wake* wake) override;
  void abort(Error why) override;
  [[nodiscard]] const Error& error() const override { return *error_; }

 private:
  /// Told by the carrier.
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
  std::optional<BufferBudget::LateHolding> counted_;  ///< Where it is counted, up to the end.
  std::uint64_t carried_from_ = 0;                    ///< The place of the carrier's first byte.
  std::uint64_t sending_ = 0;                         ///< Bytes of ours in the carrier's pending write.
  bool write_pending_ = false;                        ///< At the carrier.
  bool acknowledged_more_ = false;                    ///< Than the carrier had taken.
  bool finish_wanted_ = false;
  bool finish_sent_ = false;
  bool reading_stopped_ = false;
  WriteOperation* write_ = nullptr;

  std::vector<std::byte> inbound_;  ///< What lost carriers had received.
  std::size_t inbound_read_ = 0;
  std::uint64_t received_ = 0;  ///< Without what the carrier holds.
  std::uint64_t skip_ = 0;
  bool inbound_ended_ = false;

  Wake* read_wake_ = nullptr;
  Wake* gone_wake_ = nullptr;
  bool accepted_ = false;    ///< What the carrier brings is the answer.
  bool confirming_ = false;  ///< The carrier has ended; whether our end has arrived is being asked.
  bool over_ = false;
  BoxedError error_;
};

}  // namespace farport::transport
