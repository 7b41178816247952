#include "auth/check.hpp"

#include <algorithm>

#include <openssl/err.h>

#include "auth/credentials.hpp"
#include "auth/identity.hpp"
#include "auth/tls_context.hpp"

namespace farport::auth {
namespace {

constexpr int kWarnDays = 14;

using Findings = std::vector<Finding>;

void add(Findings& findings, Finding::Level level, std::string text) {
  findings.push_back({level, std::move(text)});
}

/// Reports what applies to every certificate: its names and its remaining lifetime.
void describe_certificate(Findings& findings, const X509* certificate, const std::string& path) {
  const Identity identity = identity_of(certificate);
  std::string text = path + ": " + distinguished_name(X509_get_subject_name(certificate));
  for (const auto& dns : identity.dns) text += ", DNS " + dns;
  for (const auto& ip : identity.ips) text += ", IP " + ip;
  for (const auto& uri : identity.uris) text += ", URI " + uri;
  add(findings, Finding::Level::ok,
      text + "; issued by " + distinguished_name(X509_get_issuer_name(certificate)) + "; pin " +
          identity.spki_pin);
  if (identity.rejected_names > 0) {
    add(findings, Finding::Level::warning,
        path + ": names with control characters, invalid UTF-8 or more than one common name match no rule");
  }
}

void check_time_left(Findings& findings, const X509* certificate, const std::string& path) {
  int days = 0;
  int seconds = 0;
  const ASN1_TIME* until = X509_get0_notAfter(certificate);
  if (ASN1_TIME_diff(&days, &seconds, nullptr, until) != 1) return;
  if (days < 0 || seconds < 0) {
    add(findings, Finding::Level::problem, path + ": expired on " + time_text(until));
    return;
  }
  const std::string left = days == 1 ? "1 day" : std::to_string(days) + " days";
  add(findings, days < kWarnDays ? Finding::Level::warning : Finding::Level::ok,
      path + ": valid until " + time_text(until) + ", " + left + " left" +
          (days < kWarnDays ? "; renew it soon" : ""));
}

/// Whether our certificate chains to the CAs that we trust. It need not: the other side may trust a different
/// CA.
void check_chain(Findings& findings, const std::vector<X509Ptr>& chain, const std::vector<X509Ptr>& anchors,
                 const TlsFiles& files, Side side) {
  const X509StorePtr store(X509_STORE_new());
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  for (const auto& anchor : anchors) X509_STORE_add_cert(store.get(), anchor.get());
  const std::unique_ptr<STACK_OF(X509), decltype([](STACK_OF(X509) * stack) { sk_X509_free(stack); })> others(
      sk_X509_new_null());
  for (std::size_t i = 1; i < chain.size(); ++i) sk_X509_push(others.get(), chain[i].get());
  const X509StoreCtxPtr verification(X509_STORE_CTX_new());
  X509_STORE_CTX_init(verification.get(), store.get(), chain.front().get(), others.get());
  X509_STORE_CTX_set_purpose(verification.get(),
                             side == Side::server ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT);
  if (X509_verify_cert(verification.get()) == 1) {
    add(findings, Finding::Level::ok, files.cert + ": chains to " + files.ca);
  } else {
    const int verdict = X509_STORE_CTX_get_error(verification.get());
    add(findings, Finding::Level::warning,
        files.cert + ": does not chain to " + files.ca + " (" + X509_verify_cert_error_string(verdict) +
            "); a peer that trusts the same file will refuse it");
  }
  ERR_clear_error();
}

void check_own(Findings& findings, const std::vector<X509Ptr>& chain, const TlsFiles& files, Side side) {
  X509* own = chain.front().get();
  describe_certificate(findings, own, files.cert);
  const auto usable = check_usable(own, side, files.cert);
  if (usable) {
    check_time_left(findings, own, files.cert);
  } else {
    add(findings, Finding::Level::problem, usable.error().message());
  }
  const Identity identity = identity_of(own);
  if (side == Side::server && identity.dns.empty() && identity.ips.empty()) {
    add(findings, Finding::Level::problem,
        files.cert +
            ": holds no DNS name or address, so that no client can verify it; issue one with: farport "
            "certs server DIR --name N --dns NAME");
  }
}

/// For files that hold a secret.
void check_permissions(Findings& findings, const std::string& path) {
  const std::string permissions = permission_warning(path);
  if (permissions.empty()) return;
  add(findings, Finding::Level::warning, path + ": " + permissions + "; chmod 600 " + path);
}

void check_key(Findings& findings, X509* own, const TlsFiles& files) {
  check_permissions(findings, files.key);
  const auto key = load_key(files.key);
  if (!key) {
    add(findings, Finding::Level::problem, key.error().message());
    return;
  }
  if (own == nullptr) return;
  const bool matches = X509_check_private_key(own, key->get()) == 1;
  ERR_clear_error();
  add(findings, matches ? Finding::Level::ok : Finding::Level::problem,
      files.key + (matches ? ": is the key of " : ": is not the key of ") + files.cert);
}

/// Reports one list that use_crls() has accepted.
void check_list(Findings& findings, X509_CRL* list, const std::string& path) {
  const int revoked = std::max(sk_X509_REVOKED_num(X509_CRL_get_REVOKED(list)), 0);
  const ASN1_TIME* until = X509_CRL_get0_nextUpdate(list);
  const std::string text = path + ": CRL of " + distinguished_name(X509_CRL_get_issuer(list)) + " with " +
                           std::to_string(revoked) + (revoked == 1 ? " certificate" : " certificates");
  int days = 0;
  int seconds = 0;
  if (until == nullptr || ASN1_TIME_diff(&days, &seconds, nullptr, until) != 1) {
    add(findings, Finding::Level::warning, text + ", for ever: nothing tells when it is out of date");
    return;
  }
  add(findings, days < 1 ? Finding::Level::warning : Finding::Level::ok,
      text + ", valid until " + time_text(until) + (days < 1 ? "; renew it today" : ""));
}

void check_crls(Findings& findings, const std::vector<X509Ptr>& anchors, const TlsFiles& files) {
  const X509StorePtr store(X509_STORE_new());
  if (const auto usable = use_crls(store.get(), anchors, files); !usable) {
    add(findings, Finding::Level::problem, usable.error().message());
    return;
  }
  const auto lists = load_crls(files.crl);
  if (!lists) return;
  for (const auto& list : *lists) check_list(findings, list.get(), files.crl);
  for (const auto& anchor : anchors) {
    const X509_NAME* name = X509_get_subject_name(anchor.get());
    const auto covers = [&](const X509CrlPtr& list) {
      return X509_NAME_cmp(X509_CRL_get_issuer(list.get()), name) == 0;
    };
    if (std::any_of(lists->begin(), lists->end(), covers)) continue;
    add(findings, Finding::Level::warning,
        files.crl + ": holds no CRL of " + distinguished_name(name) +
            "; the certificates that it has issued itself are refused");
  }
}

void check_anchors(Findings& findings, const std::vector<X509Ptr>& anchors, const TlsFiles& files) {
  for (const auto& anchor : anchors) {
    add(findings, Finding::Level::ok,
        files.ca + ": trusts " + distinguished_name(X509_get_subject_name(anchor.get())));
    check_time_left(findings, anchor.get(), files.ca);
  }
}

/// A bundle is one file, so a failure to load it is one problem.
void check_bundle(Findings& findings, const TlsFiles& files, Side side) {
  check_permissions(findings, files.cert);
  if (!files.passphrase_file.empty()) check_permissions(findings, files.passphrase_file);
  const auto bundle = load_credentials(files);
  if (!bundle) return add(findings, Finding::Level::problem, bundle.error().message());
  check_own(findings, bundle->chain, files, side);
  add(findings, Finding::Level::ok, files.cert + ": holds the key of its certificate");
  check_anchors(findings, bundle->anchors, files);
  check_chain(findings, bundle->chain, bundle->anchors, files, side);
  if (!files.crl.empty()) check_crls(findings, bundle->anchors, files);
}

void check_three(Findings& findings, const TlsFiles& files, Side side) {
  const auto chain = load_certificates(files.cert);
  const auto anchors = load_certificates(files.ca);
  if (chain) {
    check_own(findings, *chain, files, side);
  } else {
    add(findings, Finding::Level::problem, chain.error().message());
  }
  check_key(findings, chain ? chain->front().get() : nullptr, files);
  if (anchors) {
    check_anchors(findings, *anchors, files);
  } else {
    add(findings, Finding::Level::problem, anchors.error().message());
  }
  if (chain && anchors) check_chain(findings, *chain, *anchors, files, side);
  if (anchors && !files.crl.empty()) check_crls(findings, *anchors, files);
}

}  // namespace

std::vector<Finding> check_tls_files(const TlsFiles& files, Side side) {
  Findings findings;
  if (files.bundled) {
    check_bundle(findings, files, side);
  } else {
    check_three(findings, files, side);
  }
  return findings;
}

}  // namespace farport::auth
