#include "auth/crl.hpp"

#include <openssl/err.h>

#include "auth/credentials.hpp"

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
    return fail("use CRL", path, whose + " is valid only from " + time_text(from),
                "is the clock of this host right?");
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
  const auto lists = load_crls(files.crl);
  if (!lists) return tl::unexpected(lists.error());
  for (const auto& list : *lists) {
    if (auto timely = check_time(list.get(), files.crl); !timely) return timely;
    if (auto issued = check_issuer(list.get(), anchors, files); !issued) return issued;
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

}  // namespace farport::auth
