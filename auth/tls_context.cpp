#include "auth/tls_context.hpp"

#include <array>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <openssl/err.h>

#include "auth/credentials.hpp"
#include "auth/openssl.hpp"
#include "auth/policy.hpp"
#include "base/text.hpp"

namespace farport::auth {
namespace {

/// Whether verification may continue without a list, or with one that can't be checked.
bool may_do_without(X509_STORE_CTX* verification, int error) {
  const int depth = X509_STORE_CTX_get_error_depth(verification);
  // For the peer's own certificate a list is required.
  if (depth == 0) return false;
  if (error == X509_V_ERR_UNABLE_TO_GET_CRL) return true;
  // The list of an anchor that is not a root can't be verified: its issuer isn't here.
  const bool anchor = depth == sk_X509_num(X509_STORE_CTX_get0_chain(verification)) - 1;
  return anchor &&
         (error == X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER || error == X509_V_ERR_CRL_SIGNATURE_FAILURE);
}

/// A callback for X509_STORE_set_verify_cb().
int judge(int accepted, X509_STORE_CTX* verification) {
  if (accepted == 1) return 1;
  if (!may_do_without(verification, X509_STORE_CTX_get_error(verification))) return 0;
  X509_STORE_CTX_set_error(verification, X509_V_OK);
  return 1;
}

/// The same for peers that were let in earlier: an expired list is accepted.
int judge_known(int accepted, X509_STORE_CTX* verification) {
  if (accepted == 1) return 1;
  if (X509_STORE_CTX_get_error(verification) != X509_V_ERR_CRL_HAS_EXPIRED) return judge(0, verification);
  X509_STORE_CTX_set_error(verification, X509_V_OK);
  return 1;
}

std::string issuer_of(const X509_CRL* list) {
  return distinguished_name(X509_CRL_get_issuer(list));
}

Result<void> check_time(const X509_CRL* list, const std::string& path) {
  const std::string whose = "its CRL of " + issuer_of(list);
  const ASN1_TIME* from = X509_CRL_get0_lastUpdate(list);
  const ASN1_TIME* until = X509_CRL_get0_nextUpdate(list);
  if (until != nullptr && X509_cmp_current_time(until) < 0) {
    return fail("use CRL", path, whose + " is out of date since " + time_text(until),
                "fetch a new one from the CA: an old one doesn't know what has been revoked since");
  }
  if (X509_cmp_current_time(from) > 0) {
    return fail("use CRL", path, whose + " is valid only from " + time_text(from), "check this host's clock");
  }
  return {};
}

/// Several CAs may share a name, for example after a CA's key was renewed; one of them must have signed the
/// list.
Result<void> check_issuer(X509_CRL* list, const std::vector<X509Ptr>& anchors, const TlsFiles& files) {
  bool named = false;
  bool signed_by_one = false;
  for (const auto& anchor : anchors) {
    if (X509_NAME_cmp(X509_get_subject_name(anchor.get()), X509_CRL_get_issuer(list)) != 0) continue;
    named = true;
    if (X509_CRL_verify(list, X509_get0_pubkey(anchor.get())) != 1) continue;
    signed_by_one = true;
    // X509_get_key_usage() returns all bits if the certificate has no key usage.
    if ((X509_get_key_usage(anchor.get()) & KU_CRL_SIGN) != 0) return {};
  }
  ERR_clear_error();
  if (!named) return {};  // The list is of an intermediate CA, which comes with the peer's certificate.
  return fail("use CRL", files.crl,
              signed_by_one
                  ? issuer_of(list) + " may not sign CRLs (key usage cRLSign is missing)"
                  : "its CRL of " + issuer_of(list) + " is not signed by the CA of that name in " + files.ca,
              "fetch the list of the CA that you trust");
}

}  // namespace

Result<void> use_crls(X509_STORE* store, const std::vector<X509Ptr>& anchors, const TlsFiles& files) {
  ASSIGN_OR_RETURN(const auto lists, load_crls(files.crl));
  for (const auto& list : lists) {
    RETURN_IF_ERROR(check_time(list.get(), files.crl));
    RETURN_IF_ERROR(check_issuer(list.get(), anchors, files));
    if (X509_STORE_add_crl(store, list.get()) != 1) {
      return fail("use CRL", files.crl, take_openssl_error(), "fetch it again from the CA");
    }
  }
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  X509_STORE_set_verify_cb(store, judge);
  return {};
}

void allow_outdated_crls(X509_STORE_CTX* verification) {
  X509_STORE_CTX_set_verify_cb(verification, judge_known);
}

namespace {

void free_filter(void*, void* filter, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<IdentityFilter*>(filter);
}

/// The index at which a context stores its filter, since an SSL may outlive everything else that knows it.
int filter_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_filter);
  return index;
}

/// A callback for SSL_CTX_set_cert_verify_callback().
int verify(X509_STORE_CTX* verification, void* filter) {
  const int verified = X509_verify_cert(verification);
  if (verified != 1) return verified;
  const Identity identity = identity_of(X509_STORE_CTX_get0_cert(verification));
  if (matches(*static_cast<const IdentityFilter*>(filter), identity)) return 1;
  X509_STORE_CTX_set_error(verification, kAnotherAgent);
  return 0;
}

/// A list of a filter: what it is compared with in the certificate, and the flag that sets it.
struct FilterList {
  std::vector<std::string> IdentityFilter::*list;
  const char* what;
  const char* asked;
};

constexpr FilterList kLists[] = {
    {&IdentityFilter::cn, "common name", "--verify-cn"}, {&IdentityFilter::uri, "URI", "--verify-uri"},
    {&IdentityFilter::pin, "pin", "--verify-pin"},       {&IdentityFilter::ou, "unit", "verify.ou"},
    {&IdentityFilter::dns, "DNS name", "verify.dns"},    {&IdentityFilter::ip, "address", "verify.ip"},
};

}  // namespace

Result<void> expect_agent(SSL_CTX* context, const IdentityFilter& filter) {
  if (filter.empty()) return {};
  RETURN_IF_ERROR(check_filter(filter, "--verify-cn, -uri or -pin"));
  auto kept = std::make_unique<IdentityFilter>(filter);
  if (SSL_CTX_set_ex_data(context, filter_index(), kept.get()) != 1) {
    return fail("verify", "the agent", take_openssl_error());
  }
  SSL_CTX_set_cert_verify_callback(context, verify, kept.release());
  return {};
}

std::string what_differs(const SSL* ssl, const Identity& identity) {
  const auto* filter =
      static_cast<const IdentityFilter*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), filter_index()));
  std::string text;
  for (const FilterList& each : kLists) {
    if (filter == nullptr || (filter->*each.list).empty()) continue;
    IdentityFilter alone;
    alone.*each.list = filter->*each.list;
    if (matches(alone, identity)) continue;
    text += fmt::format("{}it lacks the {} {} ({})", text.empty() ? "" : ", and ", each.what,
                        fmt::join(alone.*each.list, " or "), each.asked);
  }
  return text.empty() ? "it is rejected" : text + "; its pin is " + identity.spki_pin;
}

namespace {

/// AES-128-GCM first: every TLS 1.3 peer supports it (RFC 8446 section 9.1), and it is the fastest.
constexpr const char* kCipherSuites =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

/// Four full records, so that a busy stream needs one read(2) for four of them.
constexpr std::size_t kReadAhead = 4 * (std::size_t{SSL3_RT_MAX_PLAIN_LENGTH} + 32);

/// In ALPN's list form (RFC 7301 section 3.1): a length, then the name.
constexpr std::array<unsigned char, 3> kAlpnH2 = {2, 'h', '2'};

/// A callback for SSL_CTX_set_alpn_select_cb(). It is not called if a client offers nothing; such a
/// connection is raw.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned int size, void*) {
  for (unsigned int at = 0; at < size; at += 1U + offered[at]) {
    const std::string_view name(reinterpret_cast<const char*>(offered) + at + 1, offered[at]);
    if (name != "h2") continue;
    *chosen = offered + at + 1;
    *chosen_size = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

Result<void> use_own(SSL_CTX* context, const Credentials& credentials, const TlsFiles& files, Side side) {
  const auto& chain = credentials.chain;
  RETURN_IF_ERROR(check_usable(chain.front().get(), side, files.cert));
  bool taken = SSL_CTX_use_certificate(context, chain.front().get()) == 1 &&
               SSL_CTX_use_PrivateKey(context, credentials.key.get()) == 1;
  for (std::size_t i = 1; taken && i < chain.size(); ++i) {
    taken = SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  }
  // Fails here if keys or digests are too weak for the system's security level.
  if (!taken) return fail("use certificate", files.cert, take_openssl_error(), "issue a stronger one");
  return {};
}

/// If the file has one certificate only, adds the issuers that the anchors include. The root is left out,
/// since the peer has it if it trusts it (RFC 8446 section 4.4.2). Without this, OpenSSL would build and
/// verify the chain in each handshake.
Result<void> complete_chain(SSL_CTX* context, const TlsFiles& files) {
  STACK_OF(X509)* given = nullptr;
  SSL_CTX_get0_chain_certs(context, static_cast<void*>(&given));
  if (sk_X509_num(given) > 0) return {};
  // A certificate of another CA than the peers' has no issuer here, and is sent alone.
  constexpr int kFlags =
      SSL_BUILD_CHAIN_FLAG_NO_ROOT | SSL_BUILD_CHAIN_FLAG_IGNORE_ERROR | SSL_BUILD_CHAIN_FLAG_CLEAR_ERROR;
  if (SSL_CTX_build_cert_chain(context, kFlags) > 0) return {};
  // An issuer is too weak for the system's security level.
  return fail("use the issuers of certificate", files.cert, take_openssl_error(), "issue stronger ones");
}

Result<void> use_anchors(SSL_CTX* context, const std::vector<X509Ptr>& anchors, const TlsFiles& files,
                         Side side) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const auto& anchor : anchors) {
    if (X509_STORE_add_cert(store, anchor.get()) != 1) {
      return fail("use CA", files.ca, take_openssl_error(), "is this the right file?");
    }
    // Tells clients which CA their certificate should be from (RFC 8446 section 4.2.4).
    if (side == Side::server) SSL_CTX_add_client_CA(context, anchor.get());
  }
  RETURN_IF_ERROR(complete_chain(context, files));
  // Trust an intermediate CA in the file without its root, as other TLS libraries do.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  if (files.crl.empty()) return {};
  return use_crls(store, anchors, files);
}

Result<SslCtxPtr> make_context(const TlsFiles& files, Side side) {
  const bool server = side == Side::server;
  ERR_clear_error();
  SslCtxPtr context(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context.get(), kCipherSuites) != 1) {
    return fail("set up TLS 1.3", "", take_openssl_error(), "does the system's openssl.cnf forbid it?");
  }
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_default_read_buffer_len(context.get(), kReadAhead);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | (server ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                     nullptr);
  ASSIGN_OR_RETURN(const auto credentials, load_credentials(files));
  if (auto used = use_own(context.get(), credentials, files, side); !used) {
    return tl::unexpected(used.error());
  }
  if (auto used = use_anchors(context.get(), credentials.anchors, files, side); !used) {
    return tl::unexpected(used.error());
  }
  return context;
}

}  // namespace

Result<SslCtxPtr> make_server_context(const TlsFiles& files) {
  ASSIGN_OR_RETURN(auto context, make_context(files, Side::server));
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_max_early_data(context.get(), 0);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  return context;
}

Result<SslCtxPtr> make_client_context(const TlsFiles& files) {
  ASSIGN_OR_RETURN(auto context, make_context(files, Side::client));
  if (SSL_CTX_set_alpn_protos(context.get(), kAlpnH2.data(), kAlpnH2.size()) != 0) {  // 0 is success here.
    return fail("offer HTTP/2", "", take_openssl_error());
  }
  RETURN_IF_ERROR(expect_agent(context.get(), files.agent));
  return context;
}

Result<void> set_expected_server_name(SSL* ssl, const std::string& name) {
  std::string plain = name;
  if (plain.starts_with('[') && plain.ends_with(']')) plain = plain.substr(1, plain.size() - 2);
  const std::string address = plain.substr(0, plain.find('%'));  // Without a scope such as %eth0.
  if (plain.ends_with('.')) plain.pop_back();                    // A certificate has no root dot.
  if (plain.empty() || plain.find('\0') != std::string::npos) {
    return fail("verify server name", name, "it is not a name", "give --server-name NAME");
  }
  const std::vector<std::uint8_t> bytes = ip_address_bytes(address);

  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  ERR_clear_error();
  const bool set =
      !bytes.empty()
          ? X509_VERIFY_PARAM_set1_ip(SSL_get0_param(ssl), bytes.data(), bytes.size()) == 1
          : SSL_set1_host(ssl, plain.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, plain.c_str()) == 1;
  if (!set) return fail("verify server name", name, take_openssl_error(), "give --server-name NAME");
  return {};
}

}  // namespace farport::auth
