#include "auth/issue.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.hpp"
#include "base/text.hpp"

namespace farport::auth {
namespace {

constexpr int kSerialBits = 128;
constexpr std::size_t kLongestCommonName = 64;  // RFC 5280 appendix A.1: ub-common-name.

/// Whether the text is labels of letters, digits, hyphens and, as in Kubernetes and Docker, underscores. The
/// first may be "*".
bool is_dns_name(std::string_view text) {
  if (text.starts_with("*.")) text.remove_prefix(2);
  std::size_t label = 0;
  for (const char c : text) {
    if (c == '.' && label == 0) return false;
    label = c == '.' ? 0 : label + 1;
    if (label > 63 || (c != '.' && c != '-' && c != '_' && !is_letter_or_digit(c))) return false;
  }
  return label > 0 && text.size() <= 253;
}

/// Whether the text is a scheme, a colon and more, in printable ASCII (RFC 3986 section 3).
bool is_uri(std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  return ascii && colon != std::string_view::npos && colon > 0 && colon + 1 < text.size() &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](char c) { return is_letter_or_digit(c) || c == '+' || c == '-' || c == '.'; });
}

/// Builds a certificate from the parts that all kinds have. For a CA, `issuer` is the certificate itself.
class Builder {
 public:
  explicit Builder(Validity validity)
      : certificate_(X509_new()), key_(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")) {
    good_ = certificate_ && key_ && X509_set_version(certificate_.get(), X509_VERSION_3) == 1 &&
            set_serial() &&
            ASN1_TIME_set(X509_getm_notBefore(certificate_.get()), validity.from) != nullptr &&
            ASN1_TIME_set(X509_getm_notAfter(certificate_.get()), validity.until) != nullptr &&
            X509_set_pubkey(certificate_.get(), key_.get()) == 1;
  }

  void common_name(const std::string& name) {
    good_ =
        good_ && X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate_.get()), "CN", MBSTRING_UTF8,
                                            reinterpret_cast<const unsigned char*>(name.data()),
                                            static_cast<int>(name.size()), -1, 0) == 1;
  }

  /// Adds an extension in the syntax of openssl.cnf, after subject and key were set. Only for trusted text.
  void extension(int kind, const char* text, X509* issuer) {
    X509V3_CTX context{};
    X509V3_set_ctx(&context, issuer, certificate_.get(), nullptr, nullptr, 0);
    const X509ExtensionPtr added(X509V3_EXT_conf_nid(nullptr, &context, kind, text));
    good_ = good_ && added && X509_add_ext(certificate_.get(), added.get(), -1) == 1;
  }

  void alternative_names(const CertificateRequest& request) {
    const GeneralNamesPtr names(GENERAL_NAMES_new());
    for (const auto& dns : request.dns) add(names.get(), GEN_DNS, ia5(dns));
    for (const auto& ip : request.ips) add(names.get(), GEN_IPADD, a2i_IPADDRESS(ip.c_str()));
    for (const auto& uri : request.uris) add(names.get(), GEN_URI, ia5(uri));
    if (sk_GENERAL_NAME_num(names.get()) == 0) return;
    good_ = good_ && X509_add1_ext_i2d(certificate_.get(), NID_subject_alt_name, names.get(), 0,
                                       X509V3_ADD_DEFAULT) == 1;
  }

  [[nodiscard]] X509* certificate() const { return certificate_.get(); }

  /// Signs with the issuer's key; nullptr: with its own.
  Result<Issued> sign(const X509* issuer, EVP_PKEY* issuer_key, std::string_view what) {
    good_ = good_ && X509_set_issuer_name(certificate_.get(), X509_get_subject_name(issuer)) == 1 &&
            X509_sign(certificate_.get(), issuer_key == nullptr ? key_.get() : issuer_key, EVP_sha256()) > 0;
    if (!good_) return fail("make certificate", what, take_openssl_error());
    return Issued{std::move(certificate_), std::move(key_)};
  }

 private:
  bool set_serial() {
    const BignumPtr number(BN_new());
    return number && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
           BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate_.get())) != nullptr;
  }

  static ASN1_STRING* ia5(const std::string& text) {
    ASN1_IA5STRING* value = ASN1_IA5STRING_new();
    ASN1_STRING_set(value, text.data(), static_cast<int>(text.size()));
    return value;
  }

  void add(GENERAL_NAMES* names, int kind, ASN1_STRING* value) {
    if (value == nullptr) {
      good_ = false;
      return;
    }
    GENERAL_NAME* name = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(name, kind, value);
    sk_GENERAL_NAME_push(names, name);
  }

  X509Ptr certificate_;
  EvpPkeyPtr key_;
  bool good_ = false;
};

}  // namespace

Result<void> check_name(const std::string& name) {
  const auto bad = [&](std::string_view why) {
    return fail("use name", name, why, "give a short one, such as --name alice");
  };
  const auto characters = std::count_if(
      name.begin(), name.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; });
  if (name.empty()) return bad("it is empty");
  if (static_cast<std::size_t>(characters) > kLongestCommonName)
    return bad("it is longer than 64 characters");
  if (name.front() == '.' || name.front() == '-' || name.find('/') != std::string::npos) {
    return bad("it is the files' name too, and cannot hold \"/\" or begin with \".\" or \"-\"");
  }
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    return bad("it holds a control character");
  }
  if (name == "ca") return bad("ca.crt and ca.key are the CA's own");
  return {};
}

Result<CertificateRequest> complete_request(CertificateRequest request) {
  RETURN_IF_ERROR(check_name(request.name));
  for (const auto& dns : request.dns) {
    if (is_ip_address(dns)) return fail("use DNS name", dns, "it is an address", "give it as --ip " + dns);
    if (!is_dns_name(dns))
      return fail("use DNS name", dns, "it is not a DNS name", "a name looks like orders.prod.example");
  }
  for (const auto& ip : request.ips) {
    if (!is_ip_address(ip))
      return fail("use address", ip, "it is not an IPv4 or IPv6 address", "names go to --dns");
  }
  for (const auto& uri : request.uris) {
    if (!is_uri(uri))
      return fail("use URI", uri, "it is not a URI", "a URI looks like spiffe://acme.example/ns/prod");
  }
  if (request.side == Side::server && request.dns.empty() && request.ips.empty()) {
    if (is_ip_address(request.name)) {
      request.ips.push_back(request.name);
    } else if (is_dns_name(request.name)) {
      request.dns.push_back(request.name);
    } else {
      return fail("use name", request.name, "clients verify a DNS name or an address, and this is neither",
                  "give --dns or --ip as well");
    }
  }
  return request;
}

Result<Issued> make_ca(Validity validity) {
  std::uint32_t random = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&random), sizeof(random)) != 1) {
    return fail("make CA", "", take_openssl_error());
  }
  std::array<char, 9> suffix{};
  std::snprintf(suffix.data(), suffix.size(), "%08x", random);
  Builder builder(validity);
  builder.common_name(std::string("farport CA ") + suffix.data());
  builder.extension(NID_basic_constraints, "critical,CA:TRUE,pathlen:0", builder.certificate());
  builder.extension(NID_key_usage, "critical,keyCertSign,cRLSign", builder.certificate());
  builder.extension(NID_subject_key_identifier, "hash", builder.certificate());
  return builder.sign(builder.certificate(), nullptr, "of a CA");
}

Result<Issued> make_certificate(const Issued& ca, const CertificateRequest& request) {
  Validity validity = request.validity;
  std::tm ca_end{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(ca.certificate.get()), &ca_end) == 1) {
    validity.until = std::min(validity.until, timegm(&ca_end));
  }
  X509* issuer = ca.certificate.get();
  Builder builder(validity);
  builder.common_name(request.name);
  builder.extension(NID_basic_constraints, "critical,CA:FALSE", issuer);
  builder.extension(NID_key_usage, "critical,digitalSignature", issuer);
  builder.extension(NID_ext_key_usage, request.side == Side::server ? "serverAuth" : "clientAuth", issuer);
  builder.extension(NID_subject_key_identifier, "hash", issuer);
  builder.extension(NID_authority_key_identifier, "keyid:always", issuer);
  builder.alternative_names(request);
  return builder.sign(issuer, ca.key.get(), request.name);
}

Result<void> write_new(const std::string& path, std::string_view text, mode_t mode) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0 && errno == EEXIST) {
    return fail("write", path, "the file exists", "choose another name, or replace it with --force");
  }
  if (fd < 0) return fail_errno("write", path, errno, "is the directory writable?");
  // The mode does not depend on the umask: everybody may read a certificate, nobody else a key.
  const bool written =
      write_whole(fd, std::as_bytes(std::span(text))) == 0 && fchmod(fd, mode) == 0 && fsync(fd) == 0;
  const int error = errno;
  close(fd);
  if (written) return {};
  unlink(path.c_str());
  return fail_errno("write", path, error, "is the disk full?");
}

Result<void> write_over(const std::string& path, std::string_view text, mode_t mode) {
  std::uint64_t random = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&random), sizeof(random)) != 1) {
    return fail("write", path, take_openssl_error());
  }
  const std::string beside = path + ".new-" + std::to_string(random);
  RETURN_IF_ERROR(write_new(beside, text, mode));
  if (rename(beside.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  unlink(beside.c_str());
  return fail_errno("replace", path, error);
}

BioPtr secret_memory() {
  return BioPtr(BIO_new(BIO_s_secmem()));
}

std::string_view text_in(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace farport::auth
