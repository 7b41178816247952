// Fuzzes certificates, keys, lists of revoked certificates and bundles, as they are read from files. The
// first byte of an input says what it is meant to be, and whether the rest is PEM or what PEM holds.
#include <string>
#include <string_view>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/mman.h>
#include <unistd.h>

#include "auth/check.hpp"
#include "auth/credentials.hpp"
#include "auth/identity.hpp"
#include "auth/issue.hpp"
#include "auth/tls_context.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport;
using namespace farport::auth;
using farport::fuzz::require;

namespace {

constexpr unsigned kCertificate = 0;
constexpr unsigned kCrl = 1;
constexpr unsigned kKey = 2;
constexpr unsigned kBundle = 3;
constexpr unsigned kKinds = 4;
constexpr unsigned kDer = 4;

/// A file in memory, with a path.
class File {
 public:
  explicit File(std::string_view content) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(fd_ >= 0 && ::write(fd_, content.data(), content.size()) == static_cast<ssize_t>(content.size()),
            "there is memory for a file");
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(fd_); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

std::string pem_of(const char* name, std::string_view der) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio(bio.get(), name, "", reinterpret_cast<const unsigned char*>(der.data()),
                static_cast<long>(der.size()));
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

bool printable(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

void check_identity(const X509* certificate) {
  const Identity identity = identity_of(certificate);
  require(printable(identity.common_name) && printable(describe(identity)),
          "names have no control characters");
  for (const auto* names : {&identity.organizational_units, &identity.dns, &identity.uris, &identity.ips}) {
    for (const std::string& name : *names) require(printable(name), "names have no control characters");
  }
  require(identity.spki_pin.empty() || identity.spki_pin.size() == 44, "a pin is a digest in base64");
  require(printable(distinguished_name(X509_get_subject_name(certificate))), "a subject can be shown");
}

void read_certificates(const std::string& path) {
  const auto certificates = load_certificates(path);
  if (!certificates) return require(!certificates.error().why.empty(), "every error has a cause");
  require(!certificates->empty(), "a file of certificates has one at least");
  std::string again;
  for (const X509Ptr& certificate : *certificates) {
    check_identity(certificate.get());
    std::ignore = check_usable(certificate.get(), Side::server, path);
    again += pem_of(certificate.get());
  }
  const File copy(again);
  const auto read = load_certificates(copy.path());
  require(read && read->size() == certificates->size(), "certificates that were read can be written");
  for (std::size_t i = 0; i < read->size(); ++i)
    require(X509_cmp((*read)[i].get(), (*certificates)[i].get()) == 0, "and are the same");
}

/// A CA whose lists these might be.
struct Ca {
  Issued issued = *make_ca();
  std::vector<X509Ptr> anchors;
  File file{pem_of(issued.certificate.get())};

  Ca() {
    X509_up_ref(issued.certificate.get());
    anchors.emplace_back(issued.certificate.get());
  }
};

const Ca& ca() {
  static const Ca made;
  return made;
}

void read_crls(const std::string& path) {
  const auto lists = load_crls(path);
  if (!lists) return require(!lists.error().why.empty(), "every error has a cause");
  require(!lists->empty(), "a file of lists has one at least");
  const X509StorePtr store(X509_STORE_new());
  TlsFiles files;
  files.ca = ca().file.path();
  files.crl = path;
  const auto used = use_crls(store.get(), ca().anchors, files);
  require(used || !used.error().why.empty(), "every error has a cause");
}

void read_key(const std::string& path) {
  const auto key = load_key(path);
  if (!key) return require(!key.error().why.empty(), "every error has a cause");
  require(EVP_PKEY_get_bits(key->get()) >= 0, "a key has a size");
}

void read_bundle(const std::string& path) {
  static const auto passphrase = std::make_shared<const Passphrase>("farport");
  TlsFiles files = TlsFiles::of_bundle(path);
  files.passphrase = passphrase;
  const auto bundle = load_bundle(files);
  if (!bundle) return require(!bundle.error().why.empty(), "every error has a cause");
  require(!bundle->chain.empty() && bundle->key && !bundle->anchors.empty(), "a bundle has all its parts");
  require(X509_check_private_key(bundle->chain.front().get(), bundle->key.get()) == 1, "its key is ours");
  for (const Side side : {Side::server, Side::client}) {
    for (const Finding& finding : check_tls_files(files, side))
      require(!finding.text.empty(), "a finding says something");
  }
}

/// As farport check looks at it, in each place.
void check_files(const std::string& path) {
  for (const Side side : {Side::server, Side::client}) {
    for (const Finding& finding : check_tls_files({path, path, path, path}, side))
      require(!finding.text.empty(), "a finding says something");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned kind = (data[0] & ~kDer) % kKinds;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  static constexpr const char* kNames[] = {"CERTIFICATE", "X509 CRL", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY"};
  std::string content = (data[0] & kDer) != 0 ? pem_of(kNames[kind], rest) : std::string(rest);
  // With a certificate beside it the key is looked at.
  if (kind == kBundle && (data[0] & kDer) != 0) content += pem_of(ca().issued.certificate.get());
  const File file(content);
  if (kind == kCertificate) read_certificates(file.path());
  if (kind == kCrl) read_crls(file.path());
  if (kind == kKey) read_key(file.path());
  if (kind == kBundle) read_bundle(file.path());
  check_files(file.path());
  require(ERR_peek_error() == 0, "no error is left behind for the next one who asks");
  return 0;
}
