#include "burden.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace farport::fake {
namespace {

constexpr std::size_t kPage = 4096;
constexpr int kDepth = 120;

void call_left(std::uint64_t turns, int depth);
void call_right(std::uint64_t turns, int depth);

/// Which of two functions calls the next one is chance: with 120 calls no two stacks are alike.
void go_deeper(std::uint64_t turns, int depth) {
  if (depth == 0) return std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::uint64_t next = turns * 6364136223846793005U + 1442695040888963407U;
  ((next >> 60U) % 2 == 0 ? call_left : call_right)(next, depth - 1);
}

[[gnu::noinline]] void call_left(std::uint64_t turns, int depth) {
  go_deeper(turns, depth);
  // No tail call.
  asm volatile("" ::: "memory");
}

[[gnu::noinline]] void call_right(std::uint64_t turns, int depth) {
  go_deeper(turns, depth);
  asm volatile("" ::: "memory");
}

[[noreturn]] void run(std::uint64_t seed) {
  for (;;) go_deeper(seed = seed * 2862933555777941757U + 3037000493U, kDepth);
}

int open_file(const std::string& directory) {
  constexpr std::size_t kLongest = 3800;
  std::filesystem::path path = directory;
  while (path.native().size() < kLongest) {
    path /= std::string(200, 'd');
    // One after the other: a path is too long for all at once.
    std::filesystem::create_directory(path);
  }
  path /= "libburden.so";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0755);
  if (file < 0 || ::ftruncate(file, kPage) != 0) throw std::runtime_error("cannot make " + path.native());
  return file;
}

void map_often(const Burden& burden) {
  const int file = open_file(burden.directory);
  void* const all =
      ::mmap(nullptr, burden.mappings * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw std::runtime_error("there is no room for mappings");
  for (std::size_t i = 0; i < burden.mappings; ++i) {
    // The kernel joins neighbours only where they follow each other in their file.
    constexpr off_t kOffset = 0;
    void* const place = static_cast<char*>(all) + i * kPage;
    if (::mmap(place, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, kOffset) == MAP_FAILED)
      throw std::runtime_error("cannot map the file as often");
  }
  ::close(file);
}

}  // namespace

void take_on(const Burden& burden) {
  if (burden.mappings > 0) map_often(burden);
  for (std::size_t i = 0; i < burden.threads; ++i) std::thread(run, i).detach();
}

}  // namespace farport::fake
