// Looking at a process of the test's own that waits, is stopped, or computes.
#include "router/agent/sampler/thread_walker.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <thread>
#include <tuple>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/unit/child.hpp"

using namespace farport;
using namespace farport::router;

namespace {

/// What is seen in one look.
class Seen final : public PerfSink {
 public:
  void on_sample(const PerfSample& sample) override { stacks[sample.thread] = sample; }
  void on_same_stack(pid_t /*thread*/, std::uint64_t /*time*/) override { ++again; }
  void on_thread_start(pid_t /*process*/, pid_t /*thread*/) override {}
  void on_thread_exit(pid_t /*process*/, pid_t /*thread*/) override { ++gone; }
  void on_name(pid_t /*thread*/, std::string_view /*name*/) override {}
  void on_mapped(pid_t /*process*/, MappedFile /*file*/) override {}
  void on_lost(std::uint64_t records) override { lost += records; }

  std::map<pid_t, PerfSample> stacks;
  std::uint64_t again = 0;
  std::uint64_t gone = 0;
  std::uint64_t lost = 0;
};

volatile int deeper = 0;

// Functions whose place in a stack can be told: none calls the next as its last act. With AddressSanitizer
// they would align their stacks, so that nothing tells where their frames are.
[[gnu::noinline]] __attribute__((no_sanitize("address", "undefined"))) void inner(bool waits, int ready) {
  std::ignore = ::write(ready, "r", 1);
  while (waits) ::pause();
  while (!waits) deeper = deeper + 1;
  deeper = deeper + 1;
}
[[gnu::noinline]] __attribute__((no_sanitize("address", "undefined"))) void outer(bool waits, int ready) {
  inner(waits, ready);
  deeper = deeper + 1;
}

/// A child that is in inner(), called by outer().
class Child {
 public:
  explicit Child(bool waits) {
    std::array<int, 2> ready{};
    REQUIRE(::pipe2(ready.data(), O_CLOEXEC) == 0);
    process_.emplace([&] { outer(waits, ready[1]); });
    char byte = 0;
    CHECK(::read(ready[0], &byte, 1) == 1);
    for (const int end : ready) ::close(end);
  }
  [[nodiscard]] pid_t pid() const { return process_->pid(); }

 private:
  std::optional<farport::test::ChildProcess> process_;
};

constexpr std::uint64_t kBase = 0x123000;

AddressSpace space_of(pid_t process) {
  AddressSpace space;
  read_maps_of(process, [&](MappedFile file) { space.add(std::move(file)); });
  return space;
}

bool is_in(const std::vector<std::uint64_t>& stack, void (*function)(bool, int)) {
  const auto begin = reinterpret_cast<std::uint64_t>(function);
  constexpr std::uint64_t kLongest = 512;
  return std::any_of(stack.begin(), stack.end(),
                     [&](std::uint64_t each) { return each > begin && each < begin + kLongest; });
}

/// The child's stack once it is where it stays.
PerfSample look_until(const Child& child, const AddressSpace& space,
                      const std::function<bool(const PerfSample&)>& good) {
  PerfSample last;
  for (int tries = 0; tries < 500; ++tries) {
    auto walker = ThreadWalker::open(child.pid(), ::getuid(), 100, space, kBase, 1 << 20);
    REQUIRE(walker);
    Seen seen;
    (*walker)->read(seen);
    if (seen.stacks.contains(child.pid())) last = seen.stacks[child.pid()];
    if (good(last)) return last;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return last;
}

}  // namespace

TEST_CASE("A page that a process has never used is not read") {
  constexpr std::size_t kSize = 4096;
  constexpr std::size_t kPages = 40;
  auto* const memory = static_cast<char*>(
      ::mmap(nullptr, kPages * kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(memory != MAP_FAILED);
  std::array<int, 2> ready{};
  REQUIRE(::pipe2(ready.data(), O_CLOEXEC) == 0);
  const farport::test::ChildProcess child([&] {
    for (std::size_t page = 0; page < kPages; ++page) {
      if (page != 2 && page < 30) memory[page * kSize] = 'x';
    }
    std::ignore = ::write(ready[1], "r", 1);
    for (;;) ::pause();
  });
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  const PresentPages present(child.pid());
  const auto begin = reinterpret_cast<std::uint64_t>(memory);
  CHECK(present.readable(begin, kPages * kSize) == 2 * kSize);
  CHECK(present.readable(begin + 100, kSize) == kSize);
  CHECK(present.readable(begin + 3 * kSize, kPages * kSize) == 27 * kSize);
  CHECK(present.readable(begin + 2 * kSize, 1) == 0);
  auto read = ProcessMemory::open(child.pid());
  REQUIRE(read);
  REQUIRE(read->take_stack(begin));
  std::array<std::byte, 8> bytes{};
  CHECK(read->read(begin + kSize, bytes));
  CHECK_FALSE(read->read(begin + 2 * kSize, bytes));
  CHECK_FALSE(read->read(begin + 35 * kSize, bytes));
  // It still has none of them.
  CHECK(present.readable(begin, kPages * kSize) == 2 * kSize);
  CHECK(present.readable(begin + 35 * kSize, kSize) == 0);
  ::munmap(memory, kPages * kSize);
  for (const int end : ready) ::close(end);
}

TEST_CASE("A thread that waits is seen from its system call to its outermost caller") {
  const Child child(true);
  const AddressSpace space = space_of(child.pid());
  const PerfSample sample =
      look_until(child, space, [](const PerfSample& each) { return is_in(each.user, outer); });
  CHECK(is_in(sample.user, inner));
  CHECK(is_in(sample.user, outer));
  REQUIRE(sample.kernel.size() == 1);
  CHECK(sample.kernel[0] - kBase == system_call_address(SYS_pause));
  // Far behind them is what has started the tests.
  CHECK(sample.user.size() > 5);
}

TEST_CASE("A thread that has not run since is sampled again without a look, be its file kept open or not") {
  const std::uint64_t for_files = GENERATE(0, 1 << 20);
  const Child child(true);
  const AddressSpace space = space_of(child.pid());
  look_until(child, space, [](const PerfSample& each) { return is_in(each.user, outer); });
  auto walker = ThreadWalker::open(child.pid(), ::getuid(), 100, space, kBase, for_files);
  REQUIRE(walker);
  Seen seen;
  // It rests twice as long as a look has taken.
  for (int tries = 0; tries < 500 && seen.again == 0; ++tries) {
    (*walker)->read(seen);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(seen.stacks.size() == 1);
  CHECK(seen.again == 1);
}

TEST_CASE("A thread that computes has no stack, and one once it is stopped") {
  const Child child(false);
  const AddressSpace space = space_of(child.pid());
  const PerfSample running =
      look_until(child, space, [](const PerfSample& each) { return each.thread != 0 && each.user.empty(); });
  CHECK(running.thread == child.pid());
  CHECK(running.user.empty());
  ::kill(child.pid(), SIGSTOP);
  const PerfSample stopped =
      look_until(child, space, [](const PerfSample& each) { return is_in(each.user, outer); });
  CHECK(is_in(stopped.user, inner));
  CHECK(is_in(stopped.user, outer));
}

TEST_CASE("What has ended can't be looked at, and what ends meanwhile is no sample") {
  pid_t pid = 0;
  std::unique_ptr<ThreadWalker> walker;
  AddressSpace space;
  {
    const Child child(true);
    pid = child.pid();
    space = space_of(pid);
    auto opened = ThreadWalker::open(pid, ::getuid(), 100, space, kBase, 1 << 20);
    REQUIRE(opened);
    walker = std::move(*opened);
    Seen before;
    walker->read(before);
  }
  Seen seen;
  // On a busy machine the first look may have taken long: then it rests.
  for (int looks = 0; seen.gone == 0 && looks < 10'000; ++looks) {
    walker->read(seen);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(seen.stacks.empty());
  CHECK(seen.gone == 1);
  const auto late = ThreadWalker::open(pid, ::getuid(), 100, space, kBase, 1 << 20);
  REQUIRE_FALSE(late);
  CHECK(late.error().why == "the process has ended");
}
