#include "auth/tls_credentials.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>

#include <openssl/err.h>
#include <sys/stat.h>

#include "auth/identity.hpp"
#include "auth/openssl.hpp"
#include "auth/tls_context.hpp"
#include "base/text.hpp"

namespace farport::auth {
namespace {

namespace fs = std::filesystem;

/// The most symbolic links that Linux follows (path_resolution(7)).
constexpr int kMaxLinks = 40;

std::int64_t nanoseconds(const timespec& time) {
  constexpr std::int64_t kPerSecond = 1'000'000'000;
  return std::int64_t{time.tv_sec} * kPerSecond + time.tv_nsec;
}

FileStamp stamp_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

/// A path during resolution: the part without symbolic links, and the rest.
struct Walk {
  fs::path done{"/"};
  fs::path rest;
};

/// Advances to the next symbolic link and follows it. Returns false if there is none left.
bool enter_next_link(Walk& walk) {
  std::error_code error;
  for (auto part = walk.rest.begin(); part != walk.rest.end(); ++part) {
    if (*part == ".." || *part == "." || *part == "/" || part->empty()) {
      if (*part == "..") walk.done = walk.done.parent_path();
      continue;
    }
    const fs::path next = walk.done / *part;
    if (!fs::is_symlink(fs::symlink_status(next, error))) {
      walk.done = next;
      continue;
    }
    fs::path target = fs::read_symlink(next, error);
    for (auto left = std::next(part); left != walk.rest.end(); ++left) target /= *left;
    walk.rest = std::move(target);
    return true;
  }
  return false;
}

}  // namespace

FileStamps stamps_of(const std::vector<std::string>& paths) {
  FileStamps stamps;
  stamps.reserve(paths.size());
  for (const std::string& path : paths) stamps.push_back(stamp_of(path));
  return stamps;
}

std::set<std::string> directories_leading_to(const std::string& path) {
  std::set<std::string> directories;
  std::error_code error;
  Walk walk{"/", fs::absolute(path, error)};
  for (int links = 0; links < kMaxLinks && enter_next_link(walk); ++links) {
    directories.insert(walk.done.string());
    if (walk.rest.is_absolute()) walk.done = "/";
  }
  directories.insert(walk.done.parent_path().string());
  return directories;
}

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
  const int revoked = sk_X509_REVOKED_num(X509_CRL_get_REVOKED(list));  // -1 without a list.
  return {Kind::crl,
          path,
          distinguished_name(X509_CRL_get_issuer(list)),
          fingerprint_of<X509_CRL_digest>(list),
          seconds_of(X509_CRL_get0_lastUpdate(list)),
          seconds_of(X509_CRL_get0_nextUpdate(list)),
          static_cast<std::size_t>(std::max(revoked, 0))};
}

/// The entries of `all` that are not in `others`.
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
  // Before the files are read, so that a change during reading is noticed.
  loaded->stamps_ = stamps_of(loaded->paths_);
  ASSIGN_OR_RETURN(auto context,
                   side == Side::server ? make_server_context(files) : make_client_context(files));
  loaded->context_ = std::move(context);
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

namespace {

std::time_t first_end(const STACK_OF(X509) * chain) {
  std::time_t first = std::numeric_limits<std::time_t>::max();
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    std::tm parts{};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(sk_X509_value(chain, i)), &parts) != 1) continue;
    first = std::min(first, timegm(&parts));
  }
  return first;
}

std::string subject_of(const X509* certificate) {
  return distinguished_name(X509_get_subject_name(certificate));
}

tl::unexpected<Error> distrust(const X509* leaf, const std::string& why, int code) {
  Error error{"keep the connection of", describe(identity_of(leaf)), why, {}, Cause(code)};
  return tl::unexpected(std::move(error));
}

tl::unexpected<Error> explain(X509_STORE_CTX* verification, const X509* leaf) {
  const int verdict = X509_STORE_CTX_get_error(verification);
  const X509* current = X509_STORE_CTX_get_current_cert(verification);
  const bool own = current == nullptr || current == leaf;
  const std::string whose = own ? "its certificate" : "the certificate of its CA " + subject_of(current);
  if (lacks_trusted_ca(verdict)) {
    return distrust(leaf,
                    "the CA of its certificate (" + distinguished_name(X509_get_issuer_name(leaf)) +
                        ") is no longer trusted",
                    EKEYREJECTED);
  }
  switch (verdict) {
    case X509_V_ERR_CERT_REVOKED:
      return distrust(leaf, whose + " has been revoked", EKEYREVOKED);
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return distrust(
          leaf, whose + " expired on " + time_text(X509_get0_notAfter(current == nullptr ? leaf : current)),
          EKEYEXPIRED);
    case X509_V_ERR_UNABLE_TO_GET_CRL:
      return distrust(leaf,
                      "there is no CRL of the CA of its certificate (" +
                          distinguished_name(X509_get_issuer_name(leaf)) + ")",
                      EKEYREJECTED);
    default:
      return distrust(leaf, whose + ": " + X509_verify_cert_error_string(verdict), EKEYREJECTED);
  }
}

}  // namespace

Result<std::time_t> reverify(SSL* ssl, const TlsCredentials& credentials) {
  X509* leaf = SSL_get0_peer_certificate(ssl);
  SSL_CTX* context = credentials.context();
  const X509StoreCtxPtr verification(X509_STORE_CTX_new());
  ERR_clear_error();
  if (leaf == nullptr || X509_STORE_CTX_init(verification.get(), SSL_CTX_get_cert_store(context), leaf,
                                             SSL_get_peer_cert_chain(ssl)) != 1) {
    return fail("verify", "the peer's certificate", "it is not there");
  }
  // As OpenSSL does in a handshake.
  X509_STORE_CTX_set_default(verification.get(),
                             credentials.side() == Side::server ? "ssl_client" : "ssl_server");
  X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(verification.get()),
                                   SSL_CTX_get_security_level(context));
  allow_outdated_crls(verification.get());
  const bool verified = X509_verify_cert(verification.get()) == 1;
  ERR_clear_error();
  if (!verified) return explain(verification.get(), leaf);
  return first_end(X509_STORE_CTX_get0_chain(verification.get()));
}

std::time_t valid_until(const SSL* ssl) {
  return first_end(SSL_get0_verified_chain(ssl));
}

bool may_return(const Error& distrust) {
  return distrust.cause != EKEYREVOKED;
}

}  // namespace farport::auth
