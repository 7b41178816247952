#include "floor.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.hpp"

namespace farport::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kRecord = 16 * 1024;
constexpr std::size_t kPlainSize = 4 * kRecord;
constexpr std::size_t kTag = 16;
constexpr std::size_t kNonce = 12;

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("cannot ") + what);
}

class Encryption {
 public:
  Encryption() : context_(EVP_CIPHER_CTX_new()) {
    const std::array<unsigned char, 16> key{1};
    if (EVP_EncryptInit_ex(context_.get(), EVP_aes_128_gcm(), nullptr, key.data(), nonce_.data()) != 1) {
      fail("encrypt");
    }
  }
  /// Writes the encrypted bytes and their tag to `to`.
  void encrypt(std::span<const std::byte> from, std::byte* to) {
    auto* out = reinterpret_cast<unsigned char*>(to);
    int size = 0;
    ++nonce_[0];
    if (EVP_EncryptInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce_.data()) != 1 ||
        EVP_EncryptUpdate(context_.get(), out, &size, reinterpret_cast<const unsigned char*>(from.data()),
                          static_cast<int>(from.size())) != 1 ||
        EVP_EncryptFinal_ex(context_.get(), out + size, &size) != 1 ||
        EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_GCM_GET_TAG, kTag, out + from.size()) != 1) {
      fail("encrypt");
    }
  }

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };
  std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
  std::array<unsigned char, kNonce> nonce_{};
};

/// A TCP connection on loopback to a process that takes all it gets.
class Sink {
 public:
  Sink() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || fd_ < 0 || ::bind(listener, any, size) != 0 || ::listen(listener, 1) != 0 ||
        ::getsockname(listener, any, &size) != 0 || ::connect(fd_, any, size) != 0) {
      fail("connect over loopback");
    }
    process_ = ::fork();
    if (process_ < 0) fail("fork");
    if (process_ == 0) take(::accept(listener, nullptr, nullptr), fd_);
    ::close(listener);
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink() {
    ::close(fd_);
    ::waitpid(process_, nullptr, 0);
  }

  void write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) fail("write over loopback");
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
  }

 private:
  [[noreturn]] static void take(int from, int others) {
    ::close(others);
    static std::array<std::byte, 256 * 1024> ignored;
    while (::read(from, ignored.data(), ignored.size()) > 0) {
    }
    ::_exit(0);
  }

  int fd_ = -1;
  pid_t process_ = -1;
};

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

Floor run_floor(const std::string& path, Seconds duration) {
  const Sink sink;
  const Connection connection(path);
  connection.send(collect_tracing_command());
  connection.receive_ok();
  Encryption encryption;
  std::vector<std::byte> plain(kPlainSize);
  std::vector<std::byte> records(kPlainSize + kPlainSize / kRecord * kTag);
  Floor result;
  const double cpu_before = cpu_seconds();
  const auto start = Clock::now();
  while (Seconds(Clock::now() - start) < duration) {
    const std::size_t got = connection.read(plain);
    if (got == 0) throw std::runtime_error("the session ended by itself");
    std::size_t made = 0;
    for (std::size_t at = 0; at < got; at += kRecord) {
      const std::size_t size = std::min(kRecord, got - at);
      encryption.encrypt(std::span(plain).subspan(at, size), records.data() + made);
      made += size + kTag;
    }
    sink.write(std::span(records).first(made));
    result.stream.amount += got;
  }
  result.stream.seconds = Seconds(Clock::now() - start).count();
  result.stream.all = result.stream.amount;
  result.cpu_seconds = cpu_seconds() - cpu_before;
  return result;
}

}  // namespace farport::bench
