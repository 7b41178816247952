// TlsStream: TLS as a Stream over any Stream (OpenSSL).
#pragma once

#include <memory>
#include <vector>

#include <openssl/ssl.h>

#include "transport/stream.hpp"

namespace farport::transport {

struct SslFree {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, SslFree>;

/// The largest plaintext of one TLS record (RFC 8446 section 5.1).
inline constexpr std::size_t kTlsRecord = 16384;

class Share;

/// One write(2) per record, and no copy unless the lower stream is full.
class TlsStream final : public Stream {
 public:
  enum class Side { client, server };

  /// Owns the lower stream. The context's settings apply. Set what is specific to this connection (server
  /// name) on ssl() before the handshake.
  TlsStream(std::unique_ptr<Stream> lower, SSL_CTX* context, Side side);
  ~TlsStream() override;

  /// Runs the handshake to its end. A TLS 1.3 client learns only at its first read whether the server
  /// accepted its certificate (RFC 8446 section 4.4.2.4 and appendix E.1.2). Each step is expensive, so it
  /// waits for its turn of `time` and is charged to it. `time` must outlive the handshake.
  Task<Result<void>> handshake(Share& time);

  Io try_read(std::span<std::byte> into) override;
  void when_readable(Wake* wake) override;
  bool begin_write(WriteOperation& operation) override;
  void flush() override { lower_->flush(); }
  void hold_unsent(std::size_t bytes) override { lower_->hold_unsent(bytes); }
  void cancel_write() override;
  void when_gone(Wake* wake) override;
  void abort(Error why) override;
  [[nodiscard]] const Error& error() const override { return *error_; }

  [[nodiscard]] SSL* ssl() const { return ssl_.get(); }
  /// OpenSSL's code for the failure (ERR_peek_error(3)); 0 if nothing failed or the peer just closed.
  [[nodiscard]] unsigned long openssl_error() const { return openssl_error_; }
  /// The protocol chosen by ALPN (RFC 7301); empty if the peer offered none.
  [[nodiscard]] std::string_view alpn() const;

 private:
  /// The lower stream as OpenSSL sees it: a BIO that reads without waiting and accepts every write.
  class Bio;
  /// Bytes that the lower stream has not taken yet.
  class Overflow;

  int handshake_step(Share& time);
  bool push(WriteOperation& operation);
  void lower_taken(IoStatus status);
  void fail_tls(std::string_view what, int ssl_result);

  std::unique_ptr<Stream> lower_;
  std::unique_ptr<Overflow> overflow_;
  SslPtr ssl_;
  WriteOperation* write_ = nullptr;
  bool drained_ = false;  ///< The last try_read() found nothing more.
  bool failed_ = false;
  unsigned long openssl_error_ = 0;
  BoxedError error_;
};

}  // namespace farport::transport
