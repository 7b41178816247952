// Runs a fuzz target without libFuzzer: on every file given, and on mutations of each, which are the same
// every time.
//
// usage: TARGET_replay MUTATIONS FILE_OR_DIRECTORY...
//
// Each file has a process of its own, so that an input that ends it can be named and kept.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <random>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/target.hpp"

namespace {

namespace fs = std::filesystem;
using Input = std::vector<std::uint8_t>;
using Offset = Input::difference_type;

constexpr unsigned kMaxChanges = 4;     // In one mutation.
constexpr unsigned kLongestPiece = 32;  // In bytes, of what one change removes or repeats.

/// Which mutation is being run, where the parent of the process that runs it sees it.
class Progress {
 public:
  Progress() : memory_(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    number_ = new (memory_) std::atomic<unsigned>(0);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  Progress(Progress&&) = delete;
  Progress& operator=(Progress&&) = delete;
  ~Progress() { munmap(memory_, kSize); }

  [[nodiscard]] unsigned get() const { return *number_; }
  void set(unsigned number) { *number_ = number; }

 private:
  static constexpr std::size_t kSize = sizeof(std::atomic<unsigned>);
  void* memory_;
  std::atomic<unsigned>* number_ = nullptr;
};

Input read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw fs::filesystem_error("cannot open", path, std::error_code(errno, std::generic_category()));
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// Changes one thing: a bit, a byte, the end, or a piece that is removed or repeated.
void change(Input& input, std::mt19937& random) {
  if (input.empty()) return input.push_back(static_cast<std::uint8_t>(random()));
  const auto below = [&](std::size_t limit) { return static_cast<Offset>(random() % limit); };
  const auto at = input.begin() + below(input.size());
  const auto piece_end = at + std::min<Offset>(input.end() - at, 1 + below(kLongestPiece));
  switch (random() % 5) {
    case 0:
      *at = static_cast<std::uint8_t>(*at ^ 1U << below(8));
      return;
    case 1:
      *at = static_cast<std::uint8_t>(random());
      return;
    case 2:
      input.erase(at, input.end());
      return;
    case 3:
      input.erase(at, piece_end);
      return;
    default: {
      const Input piece(at, piece_end);
      input.insert(at, piece.begin(), piece.end());
    }
  }
}

/// The mutation of that number, always the same; number 0 is the original.
Input mutation(const Input& original, unsigned number) {
  Input input = original;
  if (number == 0) return input;
  std::mt19937 random(number);
  for (auto changes = 1 + random() % kMaxChanges; changes > 0; --changes) change(input, random);
  return input;
}

void run(const Input& input) {
  // A copy of just this size, so that the sanitizer sees a byte too many being read.
  const Input exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

/// Runs the file and its mutations in a process of their own. False, with the input kept in the working
/// directory, where that did not end well.
bool replay(const fs::path& path, unsigned mutations) {
  const Input original = read_file(path);
  Progress progress;
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "cannot fork");
  if (child == 0) {
    for (unsigned number = 0; number <= mutations; ++number) {
      progress.set(number);
      run(mutation(original, number));
    }
    std::exit(EXIT_SUCCESS);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) return true;
  const std::string kept = "failed-" + path.filename().string() + "-" + std::to_string(progress.get());
  const Input input = mutation(original, progress.get());
  std::ofstream(kept, std::ios::binary)
      .write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
  std::fprintf(stderr, "%s: mutation %u fails; it is kept in %s\n", path.c_str(), progress.get(),
               fs::absolute(kept).c_str());
  return false;
}

/// The files given and those in the directories given, in order.
std::vector<fs::path> files_of(int count, char** arguments) {
  std::vector<fs::path> files;
  for (int i = 0; i < count; ++i) {
    if (fs::is_directory(arguments[i])) {
      std::copy(fs::directory_iterator(arguments[i]), fs::directory_iterator(), std::back_inserter(files));
    } else {
      files.emplace_back(arguments[i]);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

int replay_all(unsigned mutations, const std::vector<fs::path>& files) {
  std::size_t failed = 0;
  for (const fs::path& file : files) failed += replay(file, mutations) ? 0 : 1;
  std::printf("%zu files with %u mutations each, %zu failed\n", files.size(), mutations, failed);
  return failed == 0 && !files.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string count = argc > 1 ? argv[1] : "";
  unsigned mutations = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), mutations);
  if (argc < 3 || error != std::errc() || end != count.data() + count.size()) {
    std::fprintf(stderr, "usage: %s MUTATIONS FILE_OR_DIRECTORY...\n", argv[0]);
    return 2;
  }
  try {
    return replay_all(mutations, files_of(argc - 2, argv + 2));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s: %s\n", argv[0], failure.what());
    return EXIT_FAILURE;
  }
}
