#include "auth/tls_credentials.hpp"

#include <algorithm>
#include <array>

#include "auth/validity.hpp"
#include "base/hex.hpp"

namespace farport::auth {
namespace {

using Kind = Lifetime::Kind;

template <auto Digest, typename Object>
std::string fingerprint_of(const Object* object) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  if (Digest(object, EVP_sha256(), bytes.data(), &size) != 1) return {};
  return hex(std::as_bytes(std::span(bytes)).first(size));
}

Lifetime lifetime_of(Kind kind, const std::string& path, const X509* certificate) {
  return {kind,
          path,
          distinguished_name(X509_get_subject_name(certificate)),
          fingerprint_of<X509_digest>(certificate),
          seconds_of(X509_get0_notBefore(certificate)),
          seconds_of(X509_get0_notAfter(certificate)),
          0};
}

Lifetime lifetime_of(const std::string& path, X509_CRL* list) {
  const int revoked = sk_X509_REVOKED_num(X509_CRL_get_REVOKED(list));  // -1 without a list of them.
  return {Kind::crl,
          path,
          distinguished_name(X509_CRL_get_issuer(list)),
          fingerprint_of<X509_CRL_digest>(list),
          seconds_of(X509_CRL_get0_lastUpdate(list)),
          seconds_of(X509_CRL_get0_nextUpdate(list)),
          static_cast<std::size_t>(std::max(revoked, 0))};
}

/// What is in `all` and not in `others`.
std::vector<const Lifetime*> missing(const std::vector<Lifetime>& all, const std::vector<Lifetime>& others) {
  std::vector<const Lifetime*> found;
  for (const Lifetime& each : all) {
    const auto same = [&](const Lifetime& other) {
      return other.kind == each.kind && other.fingerprint == each.fingerprint;
    };
    if (std::none_of(others.begin(), others.end(), same)) found.push_back(&each);
  }
  return found;
}

std::string arrival(const Lifetime& added) {
  const std::string until = added.until == 0 ? "" : ", valid until " + time_text(added.until);
  switch (added.kind) {
    case Kind::own:
    case Kind::intermediate:
      return added.described() + until;
    case Kind::authority:
      return "now trusts " + added.name + until;
    case Kind::crl:
      break;
  }
  return added.described() + " revokes " + std::to_string(added.revoked) +
         (added.revoked == 1 ? " certificate" : " certificates") + until;
}

}  // namespace

std::string time_text(std::time_t time) {
  const std::unique_ptr<ASN1_TIME, OpenSslFree<ASN1_TIME_free>> converted(ASN1_TIME_set(nullptr, time));
  return time_text(converted.get());
}

std::string Lifetime::described() const {
  const auto words = [this] {
    switch (kind) {
      case Kind::own:
        return "our certificate ";
      case Kind::intermediate:
        return "the intermediate CA ";
      case Kind::authority:
        return "the CA ";
      case Kind::crl:
        break;
    }
    return "the CRL of ";
  };
  return words() + name + " (" + path + ")";
}

Result<TlsCredentialsPtr> TlsCredentials::load(const TlsFiles& files, Side side) {
  std::shared_ptr<TlsCredentials> loaded(new TlsCredentials);
  loaded->files_ = files;
  loaded->side_ = side;
  loaded->paths_ = files.paths();
  // Before they are read: whatever changes meanwhile is then seen as a change.
  loaded->stamps_ = stamps_of(loaded->paths_);
  auto context = side == Side::server ? make_server_context(files) : make_client_context(files);
  if (!context) return tl::unexpected(context.error());
  loaded->context_ = std::move(*context);
  loaded->note_lifetimes();
  return loaded;
}

void TlsCredentials::note_lifetimes() {
  lifetimes_.push_back(lifetime_of(Kind::own, files_.cert, SSL_CTX_get0_certificate(context_.get())));
  STACK_OF(X509)* chain = nullptr;
  // OpenSSL's macro. NOLINTNEXTLINE(bugprone-multi-level-implicit-pointer-conversion)
  SSL_CTX_get0_chain_certs(context_.get(), &chain);
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    lifetimes_.push_back(lifetime_of(Kind::intermediate, files_.cert, sk_X509_value(chain, i)));
  }
  const STACK_OF(X509_OBJECT)* objects = X509_STORE_get0_objects(SSL_CTX_get_cert_store(context_.get()));
  for (int i = 0; i < sk_X509_OBJECT_num(objects); ++i) {
    const X509_OBJECT* object = sk_X509_OBJECT_value(objects, i);
    if (const X509* anchor = X509_OBJECT_get0_X509(object)) {
      lifetimes_.push_back(lifetime_of(Kind::authority, files_.ca, anchor));
    } else if (X509_CRL* list = X509_OBJECT_get0_X509_CRL(object)) {
      lifetimes_.push_back(lifetime_of(files_.crl, list));
    }
  }
}

bool TlsCredentials::has_name(const std::string& host) const {
  X509* own = SSL_CTX_get0_certificate(context_.get());
  return !host.empty() && X509_check_host(own, host.c_str(), host.size(), 0, nullptr) == 1;
}

std::string what_is_new(const TlsCredentials& before, const TlsCredentials& now) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  for (const Lifetime* added : missing(now.lifetimes(), before.lifetimes())) add(arrival(*added));
  for (const Lifetime* gone : missing(before.lifetimes(), now.lifetimes())) {
    if (gone->kind == Kind::authority) add("no longer trusts " + gone->name);
  }
  if (text.empty()) add("the same as before");
  return text;
}

std::vector<std::string> authorities_without_crl(const TlsCredentials& credentials) {
  std::vector<std::string> names;
  if (credentials.files().crl.empty()) return names;
  const std::vector<Lifetime>& all = credentials.lifetimes();
  for (const Lifetime& authority : all) {
    const auto covers = [&](const Lifetime& each) {
      return each.kind == Kind::crl && each.name == authority.name;
    };
    if (authority.kind == Kind::authority && std::none_of(all.begin(), all.end(), covers)) {
      names.push_back(authority.name);
    }
  }
  return names;
}

}  // namespace farport::auth
