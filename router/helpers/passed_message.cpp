#include "router/helpers/passed_message.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>

namespace farport::router {
namespace {

/// A message and the room for its descriptors.
class Envelope {
 public:
  explicit Envelope(std::span<char> bytes) : part_{bytes.data(), bytes.size()} {
    header_.msg_iov = &part_;
    header_.msg_iovlen = 1;
    header_.msg_control = space_.data();
    header_.msg_controllen = space_.size();
  }
  Envelope(const Envelope&) = delete;
  Envelope& operator=(const Envelope&) = delete;

  void enclose(const std::vector<int>& descriptors) {
    const std::size_t size = descriptors.size() * sizeof(int);
    header_.msg_controllen = size == 0 ? 0 : CMSG_SPACE(size);
    if (size == 0) return;
    cmsghdr* const control = CMSG_FIRSTHDR(&header_);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(control), descriptors.data(), size);
  }
  [[nodiscard]] std::vector<UniqueFd> enclosed() {
    std::vector<UniqueFd> owned;
    const cmsghdr* const control = CMSG_FIRSTHDR(&header_);
    if (control == nullptr || control->cmsg_type != SCM_RIGHTS) return owned;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::vector<int> descriptors(count);
    std::memcpy(descriptors.data(), CMSG_DATA(control), count * sizeof(int));
    for (const int descriptor : descriptors) owned.emplace_back(descriptor);
    return owned;
  }
  [[nodiscard]] msghdr& header() { return header_; }

 private:
  msghdr header_{};
  iovec part_;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxPassed)> space_{};
};

}  // namespace

int send_passed(int socket, std::string_view bytes, const std::vector<int>& descriptors) {
  if (descriptors.size() > kMaxPassed) return EINVAL;
  std::vector<char> copy(bytes.begin(), bytes.end());
  Envelope envelope(copy);
  envelope.enclose(descriptors);
  return ::sendmsg(socket, &envelope.header(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
}

PassedMessage receive_passed(int socket, std::span<char> buffer) {
  PassedMessage message;
  Envelope envelope(buffer);
  do {
    message.bytes = ::recvmsg(socket, &envelope.header(), MSG_CMSG_CLOEXEC);
  } while (message.bytes < 0 && errno == EINTR);
  if (message.bytes < 0) return message;
  message.descriptors = envelope.enclosed();
  // What is cut may lack its last descriptor, which has a meaning of its own.
  if ((envelope.header().msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0) return message;
  errno = EMSGSIZE;
  return {};
}

}  // namespace farport::router
