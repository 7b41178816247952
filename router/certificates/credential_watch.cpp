#include "router/certificates/credential_watch.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "auth/credentials.hpp"
#include "auth/tls_credentials.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"
#include "transport/share.hpp"

namespace farport::router {

transport::Task<void> PeerRevalidator::trust(auth::TlsCredentialsPtr credentials) {
  credentials_ = std::move(credentials);
  waiting_.take(verified_);
  // Verifying one peer takes about 0.2 ms.
  transport::TurnBudget budget(loop_);
  while (transport::ListNode* node = waiting_.pop()) {
    static_cast<VerifiedPeer*>(node)->verify();
    co_await budget.yield_if_used_up();
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

namespace {

using auth::Lifetime;

constexpr std::time_t kHour = 3600;
constexpr std::time_t kDay = 24 * kHour;
constexpr std::time_t kSoon = 14 * kDay;
/// CRLs are warned of in the last fifth of their time: one for a week that is replaced every day always has
/// six days left.
constexpr std::time_t kPartOfCrl = 5;

std::time_t warned_from(const Lifetime& lifetime) {
  const bool list = lifetime.kind == Lifetime::Kind::crl;
  return lifetime.until - (list ? std::min(kSoon, (lifetime.until - lifetime.from) / kPartOfCrl) : kSoon);
}

std::string_view consequence(const Lifetime& lifetime) {
  switch (lifetime.kind) {
    case Lifetime::Kind::own:
    case Lifetime::Kind::intermediate:
      return "the other side refuses it then";
    case Lifetime::Kind::authority:
      return "no certificate of it is accepted then";
    case Lifetime::Kind::crl:
      break;
  }
  return "nobody with a certificate of that CA is let in then";
}

std::string time_left(std::time_t seconds) {
  if (seconds < 2 * kDay) return std::to_string(seconds / kHour) + " hours";
  return std::to_string(seconds / kDay) + " days";
}

}  // namespace

void ExpiryWarnings::look(const auth::TlsCredentials& credentials, std::time_t now) {
  for (const Lifetime& each : credentials.lifetimes()) {
    if (each.until == 0 || now < warned_from(each)) continue;
    const bool over = each.until < now;
    LastWarning& told = last_warning_[each.fingerprint];
    if (told.at != 0 && told.over == over && now - told.at < kDay) continue;
    told = {over, now};
    if (over) {
      log_->error("{} expired on {}: renew it; it is read again as soon as it changes", each.described(),
                  auth::time_text(each.until));
    } else {
      log_->warn("{} expires on {}, in {}: renew it; {}", each.described(), auth::time_text(each.until),
                 time_left(each.until - now), consequence(each));
    }
  }
}

FileWatch::FileWatch(transport::Loop& loop, std::function<void()> on_event)
    : loop_(loop), on_event_(std::move(on_event)) {}

void FileWatch::follow(const std::vector<std::string>& paths) {
  std::set<std::string> wanted;
  for (const std::string& path : paths) wanted.merge(auth::directories_leading_to(path));
  std::erase_if(directories_, [&](const auto& entry) {
    return !wanted.contains(entry.first) || !entry.second->watches(entry.first);
  });
  for (const std::string& path : wanted) {
    if (directories_.contains(path)) continue;
    directories_.emplace(path, std::make_unique<transport::DirectoryWatch>(
                                   loop_, path, [this](const char* /*name*/) { on_event_(); }));
  }
}

namespace {

using transport::Milliseconds;
using transport::Task;

/// Events come in bursts, and many are about other files, so wait this long after the first one.
constexpr Milliseconds kBurst{50};
/// Files that have not changed for this long are complete.
constexpr Milliseconds kStill{150};
/// The most waits for that, so that files that change all the time are read as well.
constexpr int kLooks = 20;
/// How long broken files are retried before they are reported, since a certificate and its key are written
/// one after the other. It is a time and not a number of tries, since a bundle takes a while to open.
constexpr std::uint64_t kPatienceMs = 1750;
constexpr Milliseconds kBetweenTries{250};
/// Broken files may become valid without a change: a certificate may not be valid yet.
constexpr std::uint64_t kTryAgainMs = 60'000;

/// What is wrong at that time; empty if nothing is.
std::string fault_of(const auth::Lifetime& lifetime, std::time_t now) {
  if (now < lifetime.from)
    return lifetime.described() + " is not valid before " + auth::time_text(lifetime.from);
  if (lifetime.until != 0 && lifetime.until < now)
    return lifetime.described() + " expired on " + auth::time_text(lifetime.until);
  return {};
}

}  // namespace

CredentialWatch::CredentialWatch(transport::Loop& loop, Log log, auth::TlsCredentialsPtr credentials,
                                 Milliseconds rescan)
    : loop_(loop),
      log_(std::move(log)),
      current_(std::move(credentials)),
      rescan_(rescan),
      changed_(loop),
      files_(loop, [this] { changed_.set(); }),
      peers_(loop, current_),
      warnings_(log_),
      tried_(current_->stamps()) {}

Task<void> CredentialWatch::run() {
  tell_of_gaps();
  for (;;) {
    // Watch before looking at the files, so that each later change is an event.
    files_.follow(current_->paths());
    if (due()) {
      co_await take_over();
      continue;
    }
    warnings_.look(*current_, std::time(nullptr));
    peers_.end_expired(std::time(nullptr));
    co_await with_deadline(loop_, changed_.wait(), rescan_);
    if (!asked_) co_await transport::sleep(loop_, kBurst);
  }
}

void CredentialWatch::reload() {
  asked_ = true;
  changed_.set();
}

bool CredentialWatch::due() {
  if (asked_ || auth::stamps_of(current_->paths()) != tried_) return true;
  return !complaint_.empty() && loop_.now_ms() >= try_again_at_;
}

Task<void> CredentialWatch::take_over() {
  co_await wait_until_still();
  auto loaded = co_await load();
  if (!loaded) {
    report(loaded.error());
    co_return;
  }
  adopt(std::move(*loaded));
  co_await peers_.trust(current_);
}

Task<void> CredentialWatch::wait_until_still() {
  for (int looks = 0; looks < kLooks; ++looks) {
    const auth::FileStamps before = auth::stamps_of(current_->paths());
    co_await transport::sleep(loop_, kStill);
    if (auth::stamps_of(current_->paths()) == before) co_return;
  }
}

Task<Result<auth::TlsCredentialsPtr>> CredentialWatch::load() {
  const std::uint64_t until = loop_.now_ms() + kPatienceMs;
  for (;;) {
    tried_ = auth::stamps_of(current_->paths());
    auto loaded = co_await load_once();
    if (loaded || loop_.now_ms() >= until) co_return loaded;
    co_await transport::sleep(loop_, kBetweenTries);
  }
}

Task<Result<auth::TlsCredentialsPtr>> CredentialWatch::load_once() {
  // On another thread, since a bundle's passphrase takes a fifth of a second of work.
  const auto loaded = std::make_shared<Result<auth::TlsCredentialsPtr>>();
  transport::Offload work(loop_, [loaded, files = current_->files(), side = current_->side()] {
    *loaded = auth::TlsCredentials::load(files, side);
  });
  co_await work.done();
  co_return std::move(*loaded);
}

void CredentialWatch::adopt(auth::TlsCredentialsPtr loaded) {
  ++reloads_;
  const auto before = std::exchange(current_, std::move(loaded));
  log_->info("the certificates have been read again: {}", auth::what_is_new(*before, *current_));
  tell_of_gaps();
  asked_ = false;
  complaint_.clear();
  warnings_.forget();
}

void CredentialWatch::report(const Error& error) {
  try_again_at_ = loop_.now_ms() + kTryAgainMs;
  const std::string message = error.message();
  const bool known = message == complaint_ && complained_of_ == tried_;
  if (!std::exchange(asked_, false) && known) return;
  ++failed_reloads_;
  complaint_ = message;
  complained_of_ = tried_;
  log_->error("{}; what was read before stays in use", message);
}

void CredentialWatch::tell_of_gaps() {
  const auth::TlsFiles& files = current_->files();
  tell_of_permissions(files.bundled ? "bundle" : "private key", files.key);
  tell_of_permissions("passphrase", files.passphrase_file);
  for (const std::string& name : auth::authorities_without_crl(*current_)) {
    log_->warn("{} holds no CRL of {}: the certificates that it has issued itself are refused",
               current_->files().crl, name);
  }
}

void CredentialWatch::tell_of_permissions(std::string_view what, const std::string& path) {
  const std::string warning = auth::permission_warning(path);
  if (!warning.empty()) log_->warn("the {} {}: {}; chmod 600 it", what, path, warning);
}

std::vector<std::string> CredentialWatch::faults(std::time_t now) const {
  std::vector<std::string> faults;
  bool trusts_any = false;
  for (const auth::Lifetime& each : current_->lifetimes()) {
    std::string fault = fault_of(each, now);
    // One of several CAs may have expired.
    const bool authority = each.kind == auth::Lifetime::Kind::authority;
    if (authority) trusts_any |= fault.empty();
    if (!authority && !fault.empty()) faults.push_back(std::move(fault));
  }
  if (!trusts_any) faults.emplace_back("no CA that is trusted is valid at this time");
  if (!complaint_.empty()) faults.push_back(complaint_ + "; what was read before stays in use");
  return faults;
}

}  // namespace farport::router
