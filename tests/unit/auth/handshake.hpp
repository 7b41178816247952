// A TLS handshake in memory, without sockets or a loop.
#pragma once

#include <string>

#include <openssl/err.h>

#include <catch2/catch.hpp>

#include "auth/tls_context.hpp"
#include "transport/tls_stream.hpp"

namespace farport::auth::test {

/// One end of a connection in memory.
struct End {
  transport::SslPtr ssl;
  bool done = false;
  bool failed = false;
  std::string why;

  /// Goes on with the handshake, and reads once it is done: that is when a client hears of a refusal.
  void go_on() {
    if (failed) return;
    ERR_clear_error();
    char byte = 0;
    const int result = done ? SSL_read(ssl.get(), &byte, 1) : SSL_do_handshake(ssl.get());
    if (!done && result == 1) {
      done = true;
      return;
    }
    const int kind = SSL_get_error(ssl.get(), result);
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) return;
    failed = true;
    why = describe_handshake_failure(ssl.get(), ERR_peek_error());
  }
};

/// A client and a server joined by a BIO pair.
class Handshake {
 public:
  Handshake(SSL_CTX* client_context, SSL_CTX* server_context) {
    BIO* client_bio = nullptr;
    BIO* server_bio = nullptr;
    BIO_new_bio_pair(&client_bio, 0, &server_bio, 0);
    client.ssl.reset(SSL_new(client_context));
    server.ssl.reset(SSL_new(server_context));
    SSL_set_bio(client.ssl.get(), client_bio, client_bio);
    SSL_set_bio(server.ssl.get(), server_bio, server_bio);
    SSL_set_connect_state(client.ssl.get());
    SSL_set_accept_state(server.ssl.get());
  }

  Handshake& expect(const std::string& name) {
    REQUIRE(set_expected_server_name(client.ssl.get(), name));
    return *this;
  }

  /// Enough turns for a whole handshake and the alerts after it. True: both sides are content.
  bool run() {
    for (int turn = 0; turn < 10; ++turn) {
      client.go_on();
      server.go_on();
    }
    return client.done && server.done && !client.failed && !server.failed;
  }

  End client;
  End server;
};

}  // namespace farport::auth::test
