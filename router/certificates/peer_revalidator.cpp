#include "router/certificates/peer_revalidator.hpp"

#include <utility>

#include "transport/share.hpp"

namespace farport::router {

transport::Task<void> PeerRevalidator::trust(auth::TlsCredentialsPtr credentials) {
  credentials_ = std::move(credentials);
  waiting_.take(verified_);
  // One takes about 0.2 ms.
  transport::TurnBudget budget(loop_);
  while (transport::ListNode* node = waiting_.pop()) {
    static_cast<VerifiedPeer*>(node)->verify();
    co_await budget.give_way();
  }
}

void PeerRevalidator::end_expired(std::time_t now) {
  transport::NodeList all;
  all.take(verified_);
  while (transport::ListNode* node = all.pop()) {
    auto* peer = static_cast<VerifiedPeer*>(node);
    verified_.push(*peer);
    if (peer->until_ < now) peer->verify();
  }
}

VerifiedPeer::VerifiedPeer(PeerRevalidator& peers, SSL* ssl, std::function<void(const Error&)> end)
    : peers_(peers), ssl_(ssl), end_(std::move(end)), until_(auth::valid_until(ssl)) {
  peers_.verified_.push(*this);
  if (SSL_get_SSL_CTX(ssl) != peers_.credentials_->context()) verify();
}

void end_distrusted(transport::Http2Session& session, const Error& why) {
  if (auth::may_return(why)) {
    session.lower().abort(why);
  } else {
    session.abort(why);
  }
}

void VerifiedPeer::verify() {
  const Result<std::time_t> verified = auth::reverify(ssl_, *peers_.credentials_);
  if (verified) {
    until_ = *verified;
    peers_.verified_.push(*this);
    return;
  }
  unlink();
  ended_ = verified.error();
  end_(*ended_);
}

}  // namespace farport::router
