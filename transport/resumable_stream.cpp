#include "transport/resumable_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

namespace farport::transport {
namespace {

/// Buffers filled at least this much are kept instead of copied: at most half of their space is wasted.
constexpr std::size_t kWorthKeeping = BufferPool::kSpace / 2;

}  // namespace

void RetransmitBuffer::keep(WriteOperation& operation) {
  const Chunk& chunk = operation.chunk;
  if (chunk.size == 0) return;
  if (operation.holder != nullptr && chunk.size >= kWorthKeeping) {
    pieces_.push_back(Piece{end_, chunk, std::move(*operation.holder), nullptr});
  } else {
    auto copy = std::make_unique_for_overwrite<std::byte[]>(kHeadroom + chunk.size);
    std::memcpy(copy.get() + kHeadroom, chunk.data, chunk.size);
    const Chunk bytes{copy.get() + kHeadroom, chunk.size, true};
    pieces_.push_back(Piece{end_, bytes, {}, std::move(copy)});
  }
  if (sent_ == end_) next_ = std::prev(pieces_.end());
  end_ += chunk.size;
}

Chunk RetransmitBuffer::unsent() const {
  if (next_ == pieces_.end()) return {};
  Chunk rest = next_->bytes;
  rest.advance(sent_ - next_->place);
  return rest;
}

void RetransmitBuffer::advance(std::size_t bytes) {
  sent_ += bytes;
  if (next_ != pieces_.end() && next_->end() <= sent_) ++next_;
}

void RetransmitBuffer::acknowledge(std::uint64_t place) {
  begin_ = std::clamp(place, begin_, sent_);
  while (!pieces_.empty() && pieces_.front().end() <= begin_) pieces_.pop_front();
}

void RetransmitBuffer::rewind(std::uint64_t place) {
  sent_ = place;
  next_ = std::find_if(pieces_.begin(), pieces_.end(),
                       [place](const Piece& piece) { return piece.end() > place; });
}

void RetransmitBuffer::clear() {
  pieces_.clear();
  next_ = pieces_.end();
  begin_ = sent_ = end_;
}

namespace {

/// The trailer of a request whose answer has been read to its end.
constexpr std::string_view kAnswerField = "farport-answer";
constexpr std::string_view kAnswerRead = "read";

/// Most bytes kept for a peer that reads ever more without giving credit: as much as a mirror's largest
/// window.
constexpr std::uint64_t kMaxKept = 64ULL << 20;
/// Kept data is counted in the budget beyond this size, which few commands' answers reach.
constexpr std::uint64_t kWorthCounting = 8 * 1024;
/// Bytes that may be kept however much others keep: about one buffer.
constexpr std::uint64_t kMinKept = 64 * 1024;
/// A stream's fixed cost while it waits for a carrier. With a carrier, the carrier's session counts it.
constexpr std::uint64_t kWaitingBytes = 8 * 1024;

}  // namespace

ResumableStream::ResumableStream(Loop& loop, Side side, BufferBudget::LazyReservation::AccountOf account_of)
    : Stream(loop), side_(side), interrupted_(loop) {
  counted_.emplace(std::move(account_of), [this] {
    const char* const who =
        side_ == Side::answers ? "limits.buffered_bytes of the agent" : "this program's memory limit";
    abort(Error{"keep unacknowledged data of",
                "a stream",
                std::string(who) + " is used up: the other side takes data too slowly",
                {},
                Cause(ENOBUFS)});
    kept_.clear();
  });
}

ResumableStream::~ResumableStream() {
  release_carrier();
}

bool ResumableStream::resume(std::shared_ptr<Http2Stream> carrier, std::uint64_t from, std::uint64_t skip) {
  if (over_ || from < kept_.begin() || from > kept_.end()) return false;
  kept_.rewind(from);
  kept_.acknowledge(from);
  carrier_ = std::move(carrier);
  carried_from_ = from;
  acknowledged_more_ = false;
  finish_sent_ = false;
  skip_ = skip;
  confirming_ = false;
  accepted_ = side_ == Side::answers;
  carrier_->when_gone(&gone_hook_);
  carrier_->when_acknowledged(&acknowledged_hook_);
  if (accepted_ && read_wake_ != nullptr) carrier_->when_readable(&readable_hook_);
  send();
  return true;
}

void ResumableStream::accept_answer() {
  accepted_ = true;
  if (carrier_ != nullptr && read_wake_ != nullptr) carrier_->when_readable(&readable_hook_);
  // The carrier may have ended already.
  look_after_carrier();
}

void ResumableStream::detach() {
  if (carrier_ == nullptr) return;
  // While earlier input is unread, the carrier's is dropped: it was not acknowledged, so it comes again.
  if (accepted_ && inbound_read_ == inbound_.size()) keep_unread();
  release_carrier();
  interrupted_.set();
  if (counted_) loop().defer(*this);
}

void ResumableStream::release_carrier() {
  if (carrier_ == nullptr) return;
  carrier_->when_readable(nullptr);
  carrier_->when_gone(nullptr);
  carrier_->when_acknowledged(nullptr);
  if (std::exchange(write_pending_, false)) carrier_->cancel_write();
  carrier_.reset();
}

void ResumableStream::keep_unread() {
  for (IoStatus last = IoStatus::ok; last == IoStatus::ok;) {
    const std::size_t before = inbound_.size();
    // One byte more than is there, so that an end is found too.
    inbound_.resize(before + carrier_->unread() + 1);
    const Io io = read_carrier(std::span(inbound_).subspan(before));
    inbound_.resize(before + io.bytes);
    last = io.status;
  }
  if (inbound_read_ < inbound_.size() || inbound_ended_) carrier_readable();
}

// Callbacks of the carrier.

void ResumableStream::carrier_readable() {
  if (Wake* wake = std::exchange(read_wake_, nullptr)) wake->wake();
}

void ResumableStream::carrier_gone() {
  // Deferred: the carrier is in the middle of closing.
  loop().defer(*this);
}

void ResumableStream::acknowledge() {
  const std::uint64_t place = carried_from_ + carrier_->acknowledged();
  kept_.acknowledge(place);
  // The rest follows once the carrier has taken what it is sending.
  acknowledged_more_ = place > kept_.sent();
}

void ResumableStream::carrier_acknowledged() {
  acknowledge();
  if ((counted_ && counted_->begun()) || (write_ != nullptr && all_sent())) loop().defer(*this);
}

void ResumableStream::end_of_tick() {
  if (acknowledged_more_ && carrier_ != nullptr) acknowledge();
  count_kept();
  look_after_carrier();
  send();
  write_on();
  if (reading_stopped_ && finish_sent_ && carrier_ != nullptr) carrier_->stop_reading();
}

void ResumableStream::count_kept() {
  if (!counted_) return;
  const std::uint64_t kept = kept_.memory();
  if (!counted_->begun() && kept <= kWorthCounting && carrier_ != nullptr) return;
  counted_->update(carrier_ == nullptr ? kept + kWaitingBytes : kept);
}

/// Bytes that may be kept now. The writer waits for a tool that reads slowly or not at all; nothing is
/// dropped.
std::uint64_t ResumableStream::most_kept() const {
  if (!counted_ || !counted_->begun()) return kMaxKept;
  return std::clamp(counted_->even_part(), kMinKept, kMaxKept);
}

void ResumableStream::look_after_carrier() {
  if (carrier_ == nullptr || !carrier_->closed()) return;
  if (carrier_->lost()) {
    detach();
    return;
  }
  // The response may not be the requested answer at all: accept_answer() or abort() decides.
  if (!accepted_) return;
  if (!end_is_known()) {
    if (!std::exchange(confirming_, true)) carrier_->confirm_end(gone_hook_);
    return;
  }
  Error why = carrier_->error();
  keep_unread();
  release_carrier();
  end(std::move(why));
}

bool ResumableStream::end_is_known() const {
  // The asking side may have ended its direction before it received our end.
  return side_ == Side::asks || carrier_->failed() || carrier_->end_confirmed() ||
         carrier_->head().field(kAnswerField) == kAnswerRead;
}

void ResumableStream::end(Error why) {
  over_ = true;
  error_ = std::move(why);
  counted_.reset();
  carrier_readable();
  if (Wake* wake = std::exchange(gone_wake_, nullptr)) wake->wake();
  if (write_ != nullptr) complete_write(IoStatus::failed);
  interrupted_.set();
}

// Reading.

Io ResumableStream::read_carrier(std::span<std::byte> into) {
  while (skip_ > 0) {
    const Io known = carrier_->try_read(into.first(std::min<std::uint64_t>(into.size(), skip_)));
    if (known.status != IoStatus::ok) return {known.status, 0};
    skip_ -= known.bytes;
  }
  const Io io = carrier_->try_read(into);
  received_ += io.bytes;
  if (io.status == IoStatus::end) inbound_ended_ = true;
  return io;
}

Io ResumableStream::try_read(std::span<std::byte> into) {
  const std::size_t unread = inbound_.size() - inbound_read_;
  if (unread > 0) {
    const std::size_t taken = std::min(unread, into.size());
    std::memcpy(into.data(), inbound_.data() + inbound_read_, taken);
    inbound_read_ += taken;
    if (inbound_read_ == inbound_.size()) {
      inbound_ = {};
      inbound_read_ = 0;
    }
    return {IoStatus::ok, taken};
  }
  if (inbound_ended_) return {IoStatus::end, 0};
  if (over_) return {IoStatus::failed, 0};
  if (carrier_ == nullptr || !accepted_) return {IoStatus::would_block, 0};
  const Io io = read_carrier(into);
  if (io.status != IoStatus::failed) return io;
  look_after_carrier();
  return {over_ ? IoStatus::failed : IoStatus::would_block, 0};
}

void ResumableStream::when_readable(Wake* wake) {
  read_wake_ = wake;
  if (wake == nullptr) return;
  if (inbound_read_ < inbound_.size() || inbound_ended_ || over_) {
    carrier_readable();
  } else if (carrier_ != nullptr && accepted_) {
    carrier_->when_readable(&readable_hook_);
  }
}

// Writing.

bool ResumableStream::begin_write(WriteOperation& operation) {
  if (over_ || finish_wanted_) {
    operation.status = IoStatus::failed;
    return true;
  }
  if (operation.chunk.size == 0 && !operation.finish) return true;
  kept_.keep(operation);
  // Counted later: this may run in the middle of the session's sending.
  if (counted_ && kept_.end() - kept_.begin() > kWorthCounting) loop().defer(*this);
  operation.chunk.advance(operation.chunk.size);
  finish_wanted_ = operation.finish;
  write_ = &operation;
  send();
  return false;
}

void ResumableStream::send() {
  if (carrier_ == nullptr || write_pending_ || all_sent()) return;
  chunk = kept_.unsent();
  sending_ = chunk.size;
  WriteOperation::finish = finish_wanted_ && kept_.sent() + sending_ == kept_.end();
  if (WriteOperation::finish && side_ == Side::asks && inbound_ended_) {
    carrier_->set_trailer(kAnswerField, kAnswerRead);
  }
  // A carrier never completes a write at once, except by failing, and it reports that as being gone.
  write_pending_ = !carrier_->begin_write(*this);
}

void ResumableStream::complete() {
  write_pending_ = false;
  if (status != IoStatus::ok) return;
  kept_.advance(sending_);
  finish_sent_ = WriteOperation::finish;
  // The rest is deferred: this runs in the middle of the session's sending.
  if (!all_sent() || reading_stopped_ || acknowledged_more_) loop().defer(*this);
  write_on();
}

void ResumableStream::write_on() {
  if (write_ == nullptr || !all_sent() || kept_.end() - kept_.begin() > most_kept()) return;
  complete_write(IoStatus::ok);
}

void ResumableStream::cancel_write() {
  // Bytes already accepted are kept and will be sent, unless the stream is aborted.
  write_ = nullptr;
}

void ResumableStream::complete_write(IoStatus result) {
  WriteOperation* done = std::exchange(write_, nullptr);
  done->status = result;
  done->complete();
}

// Ending.

void ResumableStream::stop_reading() {
  reading_stopped_ = true;
  loop().defer(*this);
}

void ResumableStream::when_gone(Wake* wake) {
  if (wake != nullptr && over_) {
    wake->wake();
    return;
  }
  gone_wake_ = wake;
}

void ResumableStream::abort(Error why) {
  if (over_) return;
  if (carrier_ != nullptr) {
    const std::shared_ptr<Http2Stream> carrier = carrier_;
    release_carrier();
    carrier->abort(why);
  }
  end(std::move(why));
}

}  // namespace farport::transport
