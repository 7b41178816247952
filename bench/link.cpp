// farport_link: a network that is slow, long or lossy, between two network namespaces: a TUN device in each,
// and what one gets the other gets later, or never. For kernels without tc-netem.
//
// usage: farport_link NAMESPACE NAMESPACE DELAY_MS MBIT_PER_S LOSS_PERCENT
//
// Both devices are called "link". Prints a line when they are there, and ends when its standard input does.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace farport::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// In front of each packet: what the kernel still has to do with it (virtio_net.h), which the other device is
/// told.
constexpr std::size_t kOffloadHeader = 10;
constexpr std::size_t kLargestPacket = kOffloadHeader + 65536;
constexpr int kPacketsPerTurn = 64;
/// What waits for the line beyond this is lost, as in a router: 50 ms of it.
constexpr std::chrono::milliseconds kLongestQueue{50};

/// A TUN device in a namespace of `ip netns`. With `large` packets, TCP cuts nothing into segments, which
/// would take most of a core at 1 Gbit/s.
int open_device(const std::string& network, bool large) {
  const int there = ::open(("/run/netns/" + network).c_str(), O_RDONLY | O_CLOEXEC);
  if (there < 0 || ::setns(there, CLONE_NEWNET) != 0) throw std::runtime_error("cannot enter " + network);
  ::close(there);
  const int device = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ifreq request{};
  std::strncpy(request.ifr_name, "link", IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
  if (device < 0 || ::ioctl(device, TUNSETIFF, &request) != 0)
    throw std::runtime_error("cannot make a TUN device");
  if (large && ::ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0)
    throw std::runtime_error("cannot have large packets");
  return device;
}

struct Quality {
  std::chrono::duration<double> delay;
  double bits_per_second;
  double loss;
};

/// One way of the line.
class Way {
 public:
  Way(int from, int to, const Quality& quality, unsigned seed)
      : from_(from), to_(to), quality_(quality), random_(seed) {}

  void receive(Clock::time_point now) {
    std::array<char, kLargestPacket> packet;
    for (int count = 0; count < kPacketsPerTurn; ++count) {
      const ssize_t size = ::read(from_, packet.data(), packet.size());
      if (size <= static_cast<ssize_t>(kOffloadHeader)) return;
      line_free_ = std::max(line_free_, now);
      const bool lost = std::bernoulli_distribution(quality_.loss)(random_);
      if (lost || line_free_ - now > kLongestQueue) continue;
      line_free_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
          static_cast<double>(size - kOffloadHeader) * 8 / quality_.bits_per_second));
      const auto due = line_free_ + std::chrono::duration_cast<Clock::duration>(quality_.delay);
      packets_.push_back({due, std::vector<char>(packet.data(), packet.data() + size)});
    }
  }
  void deliver(Clock::time_point now) {
    for (; !packets_.empty() && packets_.front().due <= now; packets_.pop_front()) {
      std::ignore = ::write(to_, packets_.front().bytes.data(), packets_.front().bytes.size());
    }
  }
  [[nodiscard]] Clock::time_point next() const {
    return packets_.empty() ? Clock::time_point::max() : packets_.front().due;
  }

 private:
  struct Packet {
    Clock::time_point due;
    std::vector<char> bytes;
  };

  int from_;
  int to_;
  Quality quality_;
  std::mt19937 random_;
  Clock::time_point line_free_{};
  std::deque<Packet> packets_;
};

void carry(int left, int right, const Quality& quality) {
  Way there(left, right, quality, 1);
  Way back(right, left, quality, 2);
  for (;;) {
    std::array<pollfd, 3> polled{{{left, POLLIN, 0}, {right, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
    const auto due = std::min(there.next(), back.next());
    timespec wait{3600, 0};
    if (due != Clock::time_point::max()) {
      const auto left_ns = std::max<std::int64_t>(
          0, std::chrono::duration_cast<std::chrono::nanoseconds>(due - Clock::now()).count());
      wait = {left_ns / 1'000'000'000, left_ns % 1'000'000'000};
    }
    if (::ppoll(polled.data(), polled.size(), &wait, nullptr) < 0) throw std::runtime_error("cannot wait");
    if (polled[2].revents != 0) return;
    const auto now = Clock::now();
    if (polled[0].revents != 0) there.receive(now);
    if (polled[1].revents != 0) back.receive(now);
    there.deliver(now);
    back.deliver(now);
  }
}

}  // namespace
}  // namespace farport::bench

int main(int argc, char** argv) {
  using namespace farport::bench;
  if (argc != 6) {
    std::fprintf(stderr, "usage: farport_link NAMESPACE NAMESPACE DELAY_MS MBIT_PER_S LOSS_PERCENT\n");
    return 2;
  }
  try {
    const Quality quality{std::chrono::duration<double, std::milli>(std::stod(argv[3])),
                          std::stod(argv[4]) * 1e6, std::stod(argv[5]) / 100};
    // A slow line would be busy with one of them for long, and a lossy one loses a segment at a time.
    const bool large = quality.bits_per_second >= 100e6 && quality.loss == 0;
    const int left = open_device(argv[1], large);
    const int right = open_device(argv[2], large);
    std::puts("ready");
    std::fflush(stdout);
    carry(left, right, quality);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "farport_link: %s\n", error.what());
    return 1;
  }
}
