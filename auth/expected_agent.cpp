#include "auth/expected_agent.hpp"

#include <memory>

#include <fmt/format.h>

#include "auth/match.hpp"
#include "auth/openssl.hpp"

namespace farport::auth {
namespace {

void free_filter(void*, void* filter, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<IdentityFilter*>(filter);
}

/// Where a context keeps its filter: an SSL may outlive everything else that knows of it.
int filter_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_filter);
  return index;
}

/// SSL_CTX_set_cert_verify_callback.
int verify(X509_STORE_CTX* verification, void* filter) {
  const int verified = X509_verify_cert(verification);
  if (verified != 1) return verified;
  const Identity identity = identity_of(X509_STORE_CTX_get0_cert(verification));
  if (matches(*static_cast<const IdentityFilter*>(filter), identity)) return 1;
  X509_STORE_CTX_set_error(verification, kAnotherAgent);
  return 0;
}

/// What of the certificate is compared with a list of a filter, and where that was asked for.
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
  if (auto meant = check_filter(filter, "--verify-cn, -uri or -pin"); !meant) return meant;
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
    text += fmt::format("{}it has not the {} {} ({})", text.empty() ? "" : ", and ", each.what,
                        fmt::join(alone.*each.list, " or "), each.asked);
  }
  return text.empty() ? "it is rejected" : text + "; its pin is " + identity.spki_pin;
}

}  // namespace farport::auth
