#include "auth/new_file.hpp"

#include <cerrno>
#include <cstdint>
#include <span>

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.hpp"

namespace farport::auth {

Result<void> write_new(const std::string& path, std::string_view text, mode_t mode) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0 && errno == EEXIST) {
    return fail("write", path, "the file exists", "choose another name, or replace it with --force");
  }
  if (fd < 0) return fail_errno("write", path, errno, "is the directory writable?");
  // The mode does not depend on the umask: a certificate is for everybody, a key for nobody else.
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
  if (auto written = write_new(beside, text, mode); !written) return written;
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
