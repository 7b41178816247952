#include "transport/http2/stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <nghttp2/nghttp2.h>

namespace farport::transport {

std::string_view MessageHead::field(std::string_view name) const {
  for (const auto& [key, value] : fields) {
    if (key == name) return value;
  }
  return {};
}

Http2Stream::Http2Stream(Loop& loop, Http2Connection& session, std::int32_t id)
    : Stream(loop), session_(&session), id_(id), head_event_(loop) {}

Http2Stream::~Http2Stream() {
  if (session_ == nullptr) return;
  // A complete answer needs no more of its request (RFC 9113 section 8.1); anything else is reset.
  session_->forget(*this, outbound_ended_ && session_->is_server() ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
}

Task<IoStatus> Http2Stream::head_received() {
  while (!head_complete_ && !failed_) co_await head_event_.wait();
  co_return head_complete_ ? IoStatus::ok : IoStatus::failed;
}

void Http2Stream::respond(int status, const HeaderFields& fields, bool body) {
  if (session_ == nullptr) return;
  outbound_ended_ = !body;
  session_->submit_response(*this, status, fields, body);
}

Io Http2Stream::try_read(std::span<std::byte> into) {
  const std::size_t available = inbound_.size() - inbound_read_;
  if (available == 0) {
    if (inbound_ended_) return {IoStatus::end, 0};
    return {failed_ ? IoStatus::failed : IoStatus::would_block, 0};
  }
  const std::size_t taken = std::min(available, into.size());
  std::memcpy(into.data(), inbound_.data() + inbound_read_, taken);
  inbound_read_ += taken;
  if (inbound_read_ * 2 >= inbound_.size()) {
    inbound_.erase(inbound_.begin(), inbound_.begin() + static_cast<std::ptrdiff_t>(inbound_read_));
    inbound_read_ = 0;
  }
  if (reservation_) reservation_->update(unread() + counted_kept_);
  if (session_ != nullptr) session_->consumed(*this, taken);
  return {IoStatus::ok, taken};
}

void Http2Stream::when_readable(Wake* wake) {
  if (wake != nullptr && (failed_ || inbound_ended_ || inbound_read_ < inbound_.size())) {
    wake->wake();
    return;
  }
  read_wake_ = wake;
}

bool Http2Stream::begin_write(WriteOperation& operation) {
  if (failed_ || session_ == nullptr || outbound_ended_) {
    operation.status = IoStatus::failed;
    return true;
  }
  if (operation.chunk.size == 0 && !operation.finish) return true;
  write_ = &operation;
  session_->write_waits(*this);
  return false;
}

void Http2Stream::cancel_write() {
  write_ = nullptr;
  if (session_ != nullptr) session_->write_cancelled(*this);
}

void Http2Stream::when_gone(Wake* wake) {
  if (wake != nullptr && session_ == nullptr) {
    wake->wake();
    return;
  }
  gone_wake_ = wake;
}

void Http2Stream::abort(Error why) {
  reservation_.reset();
  if (session_ != nullptr) std::exchange(session_, nullptr)->forget(*this, NGHTTP2_CANCEL);
  fail(std::move(why));
}

void Http2Stream::stop_reading() {
  if (session_ == nullptr || inbound_ended_) return;
  received_end();
  session_->stop_request(*this);
}

void Http2Stream::count_kept(std::size_t bytes) {
  counted_kept_ = bytes;
  hold();
}

void Http2Stream::received(std::span<const std::byte> bytes) {
  inbound_.insert(inbound_.end(), bytes.begin(), bytes.end());
  if (Wake* wake = std::exchange(read_wake_, nullptr)) wake->wake();
  hold();
}

/// Updates the reservation. If the budget is exceeded, this may abort this stream.
void Http2Stream::hold() {
  if (session_ == nullptr) return;
  if (!reservation_) {
    reservation_ = std::make_unique<BufferBudget::Reservation>(session_->account(), [this] {
      inbound_ = {};
      inbound_read_ = 0;
      abort(Error{"buffer data for",
                  "a stream",
                  "the memory for buffered data is used up (limits.buffered_bytes at an agent); read faster, "
                  "or raise that limit",
                  {},
                  Cause(ENOBUFS)});
    });
  }
  reservation_->update(unread() + counted_kept_);
}

void Http2Stream::received_end() {
  inbound_ended_ = true;
  if (Wake* wake = std::exchange(read_wake_, nullptr)) wake->wake();
}

void Http2Stream::received_head() {
  head_complete_ = true;
  head_event_.set();
}

void Http2Stream::closed(Error why, bool clean) {
  reservation_.reset();
  session_ = nullptr;
  // An answer may end without a valid head, such as one with status 099.
  if (clean && inbound_ended_ && head_complete_) {
    // Nothing is lost, but nobody reads what is still being written.
    if (write_ != nullptr) complete_write(outbound_ended_ ? IoStatus::ok : IoStatus::failed);
    if (!error_) error_ = std::move(why);
    if (Wake* wake = std::exchange(gone_wake_, nullptr)) wake->wake();
    return;
  }
  fail(std::move(why));
}

void Http2Stream::fail(Error why) {
  if (failed_) return;
  failed_ = true;
  error_ = std::move(why);
  head_event_.set();
  if (Wake* wake = std::exchange(read_wake_, nullptr)) wake->wake();
  if (Wake* wake = std::exchange(gone_wake_, nullptr)) wake->wake();
  if (write_ != nullptr) complete_write(IoStatus::failed);
}

std::uint64_t Http2Stream::acknowledged() const {
  return session_ == nullptr ? 0 : session_->acknowledged(*this);
}

void Http2Stream::confirm_end(Wake& wake) {
  confirmed_wake_ = &wake;
  if (ended_in_ != nullptr) {
    confirmed_by_ = ended_in_->ping_for_delivery();
  } else {
    end_known(lost_);
  }
}

void Http2Stream::end_known(bool lost) {
  lost_ = lost;
  end_confirmed_ = !lost;
  if (Wake* wake = std::exchange(confirmed_wake_, nullptr)) wake->wake();
}

bool Http2Stream::submit_trailer() {
  if (trailer_.first.empty() || session_ == nullptr) return false;
  const auto [name, value] = std::exchange(trailer_, {});
  session_->submit_trailer(*this, name, value);
  outbound_ended_ = true;
  return true;
}

bool Http2Stream::sent(std::size_t bytes, bool ends) {
  write_->chunk.advance(bytes);
  sent_ += bytes;
  if (ends) outbound_ended_ = true;
  return all_sent();
}

bool Http2Stream::all_sent() const {
  return write_ != nullptr && write_->chunk.size == 0 && (outbound_ended_ || !write_->finish);
}

void Http2Stream::complete_write(IoStatus status) {
  WriteOperation* done = std::exchange(write_, nullptr);
  done->status = status;
  done->complete();
}

}  // namespace farport::transport
