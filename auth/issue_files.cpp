// Certificates and keys to files, and the CA from them.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/issue.hpp"
#include "auth/load.hpp"

namespace farport::auth {
namespace {

/// The PEM text in memory that is wiped when it is freed, since it may be a key.
BioPtr secret_memory() {
  return BioPtr(BIO_new(BIO_s_secmem()));
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Makes a new file. Removes it again if it cannot be written to the end.
Result<void> write_new(const std::string& path, std::string_view text, mode_t mode) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0 && errno == EEXIST) {
    return fail("write", path, "the file exists", "choose another name, or replace it with --force");
  }
  if (fd < 0) return fail_errno("write", path, errno, "is the directory writable?");
  // The mode does not depend on the umask: a certificate is for everybody, a key for nobody else.
  const bool written = write_all(fd, text) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
  const int error = errno;
  close(fd);
  if (written) return {};
  unlink(path.c_str());
  return fail_errno("write", path, error, "is the disk full?");
}

/// Replaces whatever has that name, a link included, in one step.
Result<void> write_over(const std::string& path, std::string_view text, mode_t mode) {
  std::uint64_t random = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&random), sizeof(random)) != 1) {
    return fail("write", path, take_openssl_error());
  }
  const std::string beside = path + ".new-" + std::to_string(random);
  if (auto written = write_new(beside, text, mode); !written) return written;
  if (rename(beside.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  unlink(beside.c_str());
  return fail_errno("replace", path, error);
}

std::string_view text_in(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

PairPaths pair_paths(const std::string& directory, const std::string& name) {
  const std::string stem =
      (directory.empty() || directory.ends_with('/') ? directory : directory + "/") + name;
  return {stem + ".crt", stem + ".key"};
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
    if (auto written = write_over(paths.key, text_in(key.get()), kKeyMode); !written) return written;
    return write_over(paths.cert, text_in(certificate.get()), kCertificateMode);
  }
  if (auto written = write_new(paths.cert, text_in(certificate.get()), kCertificateMode); !written)
    return written;
  auto written = write_new(paths.key, text_in(key.get()), kKeyMode);
  if (!written) unlink(paths.cert.c_str());  // One without the other is of no use, and would be in the way.
  return written;
}

Result<Issued> load_ca(const std::string& directory) {
  const PairPaths paths = pair_paths(directory, "ca");
  auto loaded = load_credentials(paths.cert, paths.key);
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
