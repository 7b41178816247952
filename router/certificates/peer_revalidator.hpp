// The peers that have been let in, for when what is trusted changes.
#pragma once

#include <ctime>
#include <functional>
#include <optional>

#include "auth/tls_credentials.hpp"
#include "transport/http2/session.hpp"
#include "transport/loop.hpp"

namespace farport::router {

class VerifiedPeer;

/// Holds no connections: each tells itself here with a VerifiedPeer, for as long as it lives.
class PeerRevalidator {
 public:
  PeerRevalidator(transport::Loop& loop, auth::TlsCredentialsPtr credentials)
      : loop_(loop), credentials_(std::move(credentials)) {}
  PeerRevalidator(const PeerRevalidator&) = delete;
  PeerRevalidator& operator=(const PeerRevalidator&) = delete;

  /// From now on these count. Ends the connections whose peer they don't verify. Others may run meanwhile:
  /// it takes a while with many.
  transport::Task<void> trust(auth::TlsCredentialsPtr credentials);
  /// Ends the connections of peers whose certificate has expired.
  void end_expired(std::time_t now);

 private:
  friend class VerifiedPeer;
  transport::Loop& loop_;
  auth::TlsCredentialsPtr credentials_;
  transport::NodeList waiting_;   ///< To be verified again.
  transport::NodeList verified_;  ///< With credentials_.
};

class VerifiedPeer final : private transport::ListNode {
 public:
  /// `end` aborts the connection with the reason; it is called once at most, from the loop, or at once if the
  /// handshake was with credentials that have been replaced since. `ssl` must outlive this.
  VerifiedPeer(PeerRevalidator& peers, SSL* ssl, std::function<void(const Error&)> end);
  ~VerifiedPeer() = default;

  /// Why the connection was ended from here; nothing if it wasn't.
  [[nodiscard]] const std::optional<Error>& ended() const { return ended_; }

 private:
  friend class PeerRevalidator;
  void verify();

  PeerRevalidator& peers_;
  SSL* ssl_;
  std::function<void(const Error&)> end_;
  std::time_t until_;
  std::optional<Error> ended_;
};

/// Ends a session for a VerifiedPeer. To the peer it looks broken where it may return, so that what runs in
/// it waits for the session that comes with the certificate after a rotation.
void end_distrusted(transport::Http2Session& session, const Error& why);

}  // namespace farport::router
