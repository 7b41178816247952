#include "transport/tls_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>

#include "transport/share.hpp"

namespace farport::transport {
namespace {

/// Limit of unsent alerts and key updates: a peer that causes more is misbehaving.
constexpr std::size_t kMaxOverflow = 256 * 1024;

std::string openssl_reason(std::string_view fallback) {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? std::string(fallback) : std::string(reason);
}

/// The alert that the peer sent, if `code` is OpenSSL's code for one (RFC 8446 section 6).
Cause alert_in(unsigned long code) {
  const int reason = ERR_GET_REASON(code);
  if (ERR_GET_LIB(code) != ERR_LIB_SSL || reason < SSL_AD_REASON_OFFSET) return {};
  return Cause::alert(reason - SSL_AD_REASON_OFFSET);
}

}  // namespace

class TlsStream::Overflow final : public WriteOperation {
 public:
  explicit Overflow(TlsStream& owner) : owner_(owner) {}
  ~Overflow() {
    if (pending_) owner_.lower_->cancel_write();
  }

  [[nodiscard]] bool pending() const { return pending_; }

  /// Writes bytes to the lower stream, and keeps a copy of what it doesn't take at once. Returns false if the
  /// stream is broken or too much is kept.
  bool send(const char* data, std::size_t size) {
    if (pending_) return append(data, size);
    // The lower stream only reads through the pointer, since there is no headroom.
    chunk = Chunk{reinterpret_cast<std::byte*>(const_cast<char*>(data)), size, false};
    if (owner_.lower_->begin_write(*this)) return status == IoStatus::ok;
    pending_ = true;
    kept_.assign(chunk.data, chunk.data + chunk.size);
    chunk.data = kept_.data();
    return true;
  }

 private:
  bool append(const char* data, std::size_t size) {
    if (chunk.size + size > kMaxOverflow) return false;
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    kept_.erase(kept_.begin(), kept_.begin() + (chunk.data - kept_.data()));
    kept_.insert(kept_.end(), bytes, bytes + size);
    chunk.data = kept_.data();
    chunk.size = kept_.size();
    return true;
  }

  void complete() override {
    pending_ = false;
    kept_.clear();
    owner_.lower_taken(status);
  }

  TlsStream& owner_;
  bool pending_ = false;
  std::vector<std::byte> kept_;
};

class TlsStream::Bio {
 public:
  static BIO* make(TlsStream* stream) {
    struct MethodFree {
      void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
    };
    static const std::unique_ptr<BIO_METHOD, MethodFree> method(describe());
    BIO* bio = BIO_new(method.get());
    BIO_set_data(bio, stream);
    BIO_set_init(bio, 1);
    return bio;
  }

 private:
  static BIO_METHOD* describe() {
    BIO_METHOD* method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "farport stream");
    BIO_meth_set_read(method, read);
    BIO_meth_set_write(method, write);
    BIO_meth_set_ctrl(
        method, [](BIO*, int command, long, void*) -> long { return command == BIO_CTRL_FLUSH ? 1 : 0; });
    return method;
  }
  static int read(BIO* bio, char* into, int size) {
    auto* stream = static_cast<TlsStream*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    const std::span<char> space(into, static_cast<std::size_t>(size));
    const Io io = stream->lower_->try_read(std::as_writable_bytes(space));
    if (io.status == IoStatus::ok) return static_cast<int>(io.bytes);
    if (io.status == IoStatus::end) return 0;
    if (io.status == IoStatus::would_block) BIO_set_retry_read(bio);
    return -1;
  }
  static int write(BIO* bio, const char* data, int size) {
    auto* stream = static_cast<TlsStream*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    return stream->overflow_->send(data, static_cast<std::size_t>(size)) ? size : -1;
  }
};

TlsStream::TlsStream(std::unique_ptr<Stream> lower, SSL_CTX* context, Side side)
    : Stream(lower->loop()),
      lower_(std::move(lower)),
      overflow_(std::make_unique<Overflow>(*this)),
      ssl_(SSL_new(context)) {
  BIO* bio = Bio::make(this);
  SSL_set_bio(ssl_.get(), bio, bio);
  if (side == Side::client) {
    SSL_set_connect_state(ssl_.get());
  } else {
    SSL_set_accept_state(ssl_.get());
  }
}

TlsStream::~TlsStream() {
  lower_->when_readable(nullptr);
  lower_->when_gone(nullptr);
}

int TlsStream::handshake_step(Share& time) {
  const Work work(time);
  ERR_clear_error();
  return SSL_do_handshake(ssl_.get());
}

Task<Result<void>> TlsStream::handshake(Share& time) {
  for (;;) {
    co_await time.turn();
    const int result = handshake_step(time);
    if (result == 1) co_return Result<void>{};
    if (failed_) co_return tl::unexpected(*error_);
    if (SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ) {
      fail_tls("complete the TLS handshake with", result);
      co_return tl::unexpected(*error_);
    }
    co_await lower_->readable();
  }
}

Io TlsStream::try_read(std::span<std::byte> into) {
  if (failed_) return {IoStatus::failed, 0};
  ERR_clear_error();
  std::size_t got = 0;
  const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &got);
  drained_ = false;
  if (result == 1) return {IoStatus::ok, got};
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      drained_ = true;
      return {IoStatus::would_block, 0};
    case SSL_ERROR_ZERO_RETURN:
      return {IoStatus::end, 0};
    default:
      fail_tls("read from", result);
      return {IoStatus::failed, 0};
  }
}

void TlsStream::when_readable(Wake* wake) {
  // OpenSSL reads ahead: its buffer may hold a whole record while the lower stream has nothing to read.
  if (wake != nullptr && (failed_ || (!drained_ && SSL_has_pending(ssl_.get()) == 1))) {
    wake->wake();
    return;
  }
  lower_->when_readable(wake);
}

bool TlsStream::begin_write(WriteOperation& operation) {
  if (push(operation)) return true;
  write_ = &operation;
  return false;
}

bool TlsStream::push(WriteOperation& operation) {
  if (!failed_ && operation.chunk.size > 0 && (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) != 0) {
    // Our close_notify has been sent, for a reason that is known already; this is no TLS error.
    abort(Error{"write to", "the TLS peer", "this side has closed the connection", {}, Cause(EPIPE)});
  }
  while (!failed_ && operation.chunk.size > 0) {
    if (overflow_->pending()) return false;
    ERR_clear_error();
    const std::size_t record = std::min(operation.chunk.size, kTlsRecord);
    overflow_->more = operation.more || record < operation.chunk.size;
    std::size_t taken = 0;
    const int result = SSL_write_ex(ssl_.get(), operation.chunk.data, record, &taken);
    if (result != 1) {
      fail_tls("write to", result);
    } else {
      operation.chunk.advance(taken);
    }
  }
  overflow_->more = false;
  if (!failed_ && operation.finish) {
    // close_notify ends our direction only (RFC 8446 section 6.1). The connection below stays open: some
    // peers (stunnel) drop unread data once it ends.
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  operation.status = failed_ ? IoStatus::failed : IoStatus::ok;
  return true;
}

void TlsStream::cancel_write() {
  write_ = nullptr;
}

void TlsStream::lower_taken(IoStatus status) {
  if (status == IoStatus::failed) {
    abort(lower_->error());
    return;
  }
  WriteOperation* operation = write_;
  if (operation == nullptr || !push(*operation) || write_ != operation) return;
  write_ = nullptr;
  operation->complete();
}

void TlsStream::when_gone(Wake* wake) {
  lower_->when_gone(wake);
}

void TlsStream::abort(Error why) {
  if (failed_) return;
  failed_ = true;
  error_ = std::move(why);
  lower_->abort(*error_);
  if (WriteOperation* operation = std::exchange(write_, nullptr)) {
    operation->status = IoStatus::failed;
    operation->complete();
  }
}

void TlsStream::fail_tls(std::string_view what, int ssl_result) {
  const int kind = SSL_get_error(ssl_.get(), ssl_result);
  if (failed_) return;
  openssl_error_ = ERR_peek_error();
  if (kind == SSL_ERROR_SYSCALL && !lower_->error().why.empty()) {
    abort(lower_->error());
    return;
  }
  const bool cut_off = kind == SSL_ERROR_SYSCALL ||
                       ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  abort(Error{std::string(what),
              "the TLS peer",
              cut_off ? "it closed the connection" : openssl_reason("protocol error"),
              {},
              alert_in(openssl_error_)});
}

std::string_view TlsStream::alpn() const {
  const unsigned char* name = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &length);
  return {reinterpret_cast<const char*>(name), length};
}

}  // namespace farport::transport
