#include "auth/identity.hpp"

#include <openssl/asn1.h>
#include <openssl/x509v3.h>

#include <catch2/catch.hpp>

#include "auth/policy.hpp"
#include "tests/unit/auth/fixtures.hpp"

namespace farport::auth {
namespace {

using namespace std::string_literals;
using test::must;

/// A certificate as no honest CA makes it: names of any bytes.
class OddCertificate {
 public:
  OddCertificate()
      : certificate_(X509_new()),
        names_(GENERAL_NAMES_new()),
        key_(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")) {
    X509_set_pubkey(certificate_.get(), key_.get());
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate_.get()), 0x5f3a);
  }
  OddCertificate& subject(int kind, std::string_view bytes, int type = V_ASN1_UTF8STRING) {
    X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate_.get()), kind, type,
                               reinterpret_cast<const unsigned char*>(bytes.data()),
                               static_cast<int>(bytes.size()), -1, 0);
    return *this;
  }
  OddCertificate& alternative(int kind, std::string_view bytes) {
    ASN1_STRING* value = ASN1_STRING_type_new(kind == GEN_IPADD ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
    ASN1_STRING_set(value, bytes.data(), static_cast<int>(bytes.size()));
    GENERAL_NAME* name = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(name, kind, value);
    sk_GENERAL_NAME_push(names_.get(), name);
    return *this;
  }
  Identity identity() {
    X509_add1_ext_i2d(certificate_.get(), NID_subject_alt_name, names_.get(), 0, X509V3_ADD_REPLACE);
    return identity_of(certificate_.get());
  }

 private:
  X509Ptr certificate_;
  GeneralNamesPtr names_;
  EvpPkeyPtr key_;
};

/// Whether some name of the identity is one of these.
bool matched(std::vector<std::string> names, const Identity& identity) {
  IdentityFilter cn;
  cn.cn = names;
  IdentityFilter dns;
  dns.dns = names;
  IdentityFilter uri;
  uri.uri = std::move(names);
  return matches(cn, identity) || matches(dns, identity) || matches(uri, identity);
}

TEST_CASE("an identity holds all names of a certificate", "[auth]") {
  const auto identity = OddCertificate()
                            .subject(NID_organizationalUnitName, "oncall")
                            .subject(NID_organizationalUnitName, "payments")
                            .subject(NID_commonName, "J\xc3\xbcrgen")
                            .alternative(GEN_DNS, "orders.example")
                            .alternative(GEN_URI, "spiffe://acme.example/ns/prod")
                            .alternative(GEN_IPADD, "\x0a\0\0\x02"s)
                            .alternative(GEN_IPADD, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02"s)
                            .identity();
  CHECK(identity.common_name == "J\xc3\xbcrgen");
  CHECK(identity.organizational_units == std::vector<std::string>{"oncall", "payments"});
  CHECK(identity.dns == std::vector<std::string>{"orders.example"});
  CHECK(identity.uris == std::vector<std::string>{"spiffe://acme.example/ns/prod"});
  CHECK(identity.ips == std::vector<std::string>{"10.0.0.2", "fd00::2"});
  CHECK(identity.serial == "5f3a");
  CHECK(identity.spki_pin.size() == 44);
  CHECK(identity.rejected_names == 0);
  CHECK(describe(identity) == "CN=J\xc3\xbcrgen, spiffe://acme.example/ns/prod, orders.example");
}

TEST_CASE("a name with an embedded NUL is nobody's", "[auth]") {
  auto identity = OddCertificate()
                      .subject(NID_commonName, "alice\0.evil.example"s)
                      .subject(NID_organizationalUnitName, "oncall\0x"s)
                      .alternative(GEN_DNS, "orders.example\0.evil.example"s)
                      .alternative(GEN_URI, "spiffe://acme.example/alice\0/evil"s)
                      .identity();
  CHECK(identity.common_name.empty());
  CHECK(identity.organizational_units.empty());
  CHECK(identity.dns.empty());
  CHECK(identity.uris.empty());
  CHECK(identity.rejected_names == 4);
  CHECK_FALSE(matched({"alice", "orders.example", "spiffe://acme.example/alice"}, identity));
  CHECK_FALSE(matched({"alice\0.evil.example"s}, identity));
  CHECK(describe(identity) == "serial 5f3a");
}

TEST_CASE("a name of invalid UTF-8 is nobody's", "[auth]") {
  const auto bytes = GENERATE(values<std::string>({
      "ali\xff"
      "ce",                    // never a byte of UTF-8
      "alice\xc3",             // cut off
      "\xc1\xa1lice",          // overlong "a"
      "alice\xed\xa0\x80",     // a surrogate
      "alice\xf5\x80\x80\x80"  // above U+10FFFF
  }));
  const auto identity = OddCertificate().subject(NID_commonName, bytes).identity();
  CHECK(identity.common_name.empty());
  CHECK(identity.rejected_names == 1);
  CHECK_FALSE(matched({bytes}, identity));
}

TEST_CASE("a name with control characters is nobody's, and forges no log line", "[auth]") {
  const auto bytes = GENERATE(values<std::string>({"alice\nallowed", "\x1b[2Jalice", "alice\x7f",
                                                   "alice\xc2\x9b"
                                                   "0m"}));
  const auto identity =
      OddCertificate().subject(NID_commonName, bytes).alternative(GEN_URI, "spiffe://a/\n").identity();
  CHECK(identity.common_name.empty());
  CHECK(identity.uris.empty());
  CHECK(describe(identity) == "serial 5f3a");
}

TEST_CASE("alternative names beyond ASCII are nobody's", "[auth]") {
  const auto identity = OddCertificate()
                            .alternative(GEN_DNS, "ord\xc3\xa9rs.example")
                            .alternative(GEN_DNS, "orders example")
                            .alternative(GEN_DNS, "")
                            .alternative(GEN_IPADD, "\x0a\0\0"s)
                            .identity();
  CHECK(identity.dns.empty());
  CHECK(identity.ips.empty());
  CHECK(identity.rejected_names == 4);
}

TEST_CASE("two common names are none", "[auth]") {
  const auto identity =
      OddCertificate().subject(NID_commonName, "mallory").subject(NID_commonName, "alice").identity();
  CHECK(identity.common_name.empty());
  CHECK_FALSE(matched({"alice", "mallory"}, identity));
}

TEST_CASE("a common name in another string type is compared as UTF-8", "[auth]") {
  const auto identity =
      OddCertificate().subject(NID_commonName, "\0a\0l\0\xfc"s, V_ASN1_BMPSTRING).identity();
  CHECK(identity.common_name == "al\xc3\xbc");
}

TEST_CASE("long and many names are cut in descriptions", "[auth]") {
  Identity identity;
  identity.common_name = std::string(127, 'a') + "\xc3\xbc" + std::string(100, 'b');
  identity.dns = {"a", "b", "c", "d", "e"};
  const std::string text = describe(identity);
  CHECK(text.size() < 200);
  CHECK(text.find("…, a, b, c and 2 more") != std::string::npos);
}

TEST_CASE("the SPKI pin is the key's, whatever else the certificate says", "[auth]") {
  test::TestCa ca;
  CertificateRequest request;
  request.name = "alice";
  const auto issued = must(make_certificate(ca.ca(), request));
  const auto other = must(make_certificate(ca.ca(), request));
  CHECK(identity_of(issued.certificate.get()).spki_pin == identity_of(issued.certificate.get()).spki_pin);
  CHECK(identity_of(issued.certificate.get()).spki_pin != identity_of(other.certificate.get()).spki_pin);
}

}  // namespace
}  // namespace farport::auth
