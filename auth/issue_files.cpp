// The part of issue.hpp that writes certificates and keys to files, and loads the CA.
#include <cerrno>

#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/credentials.hpp"
#include "auth/issue.hpp"

namespace farport::auth {

namespace {

std::string stem_of(const std::string& directory, const std::string& name) {
  return (directory.empty() || directory.ends_with('/') ? directory : directory + "/") + name;
}

}  // namespace

PairPaths pair_paths(const std::string& directory, const std::string& name) {
  const std::string stem = stem_of(directory, name);
  return {stem + ".crt", stem + ".key"};
}

std::string bundle_path(const std::string& directory, const std::string& name) {
  return stem_of(directory, name) + ".pem";
}

Result<void> write_pair(const PairPaths& paths, const Issued& issued, bool overwrite) {
  const BioPtr certificate(BIO_new(BIO_s_mem()));
  const BioPtr key = secret_memory();
  if (PEM_write_bio_X509(certificate.get(), issued.certificate.get()) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key.get(), issued.key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return fail("write", paths.cert, take_openssl_error());
  }
  constexpr mode_t kKeyMode = S_IRUSR | S_IWUSR;
  constexpr mode_t kCertificateMode = kKeyMode | S_IRGRP | S_IROTH;
  if (overwrite) {
    RETURN_IF_ERROR(write_over(paths.key, text_in(key.get()), kKeyMode));
    return write_over(paths.cert, text_in(certificate.get()), kCertificateMode);
  }
  RETURN_IF_ERROR(write_new(paths.cert, text_in(certificate.get()), kCertificateMode));
  auto written = write_new(paths.key, text_in(key.get()), kKeyMode);
  if (!written) unlink(paths.cert.c_str());  // A certificate without its key is useless.
  return written;
}

Result<Issued> load_ca(const std::string& directory) {
  const PairPaths paths = pair_paths(directory, "ca");
  auto loaded = load_pair(paths.cert, paths.key);
  if (!loaded) {
    if (loaded.error().cause == ENOENT)
      loaded.error().hint = "make a CA first: farport certs init " + directory;
    return tl::unexpected(loaded.error());
  }
  X509* certificate = loaded->chain.front().get();
  if (X509_check_ca(certificate) == 0) {
    return fail("use CA", paths.cert, "the certificate is not a CA's", "make a CA: farport certs init DIR");
  }
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
    return fail("use CA", paths.cert, "it expired on " + time_text(X509_get0_notAfter(certificate)),
                "make a new one, and new certificates: farport certs init " + directory + " --force");
  }
  return Issued{std::move(loaded->chain.front()), std::move(loaded->key)};
}

}  // namespace farport::auth
