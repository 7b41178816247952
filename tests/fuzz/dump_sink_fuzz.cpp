// Fuzzes what becomes of a dump that an agent sends: a file that is whole, or none. The first byte of an
// input says how it comes, the second in what pieces, the next two how much less or more is announced.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/output_file.hpp"
#include "router/mirror/dump_receiver.hpp"
#include "tests/fuzz/heap_peak.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport;
using namespace farport::router;
using farport::fuzz::HeapPeak;
using farport::fuzz::require;

namespace {

namespace fs = std::filesystem;

constexpr unsigned kCompressed = 1;
constexpr unsigned kEncode = 2;  ///< The rest of the input is the dump, not what is sent.
constexpr unsigned kZeros = 4;   ///< Pages of zeros in front.
constexpr std::size_t kPiece = 64;
constexpr std::size_t kPages = 3 * 4096;
constexpr std::uint64_t kMax = 1 << 20;

/// A directory that goes with the process; in memory where there is one.
class Directory {
 public:
  Directory() {
    std::string path =
        fs::is_directory("/dev/shm") ? "/dev/shm/farport-fuzz-XXXXXX" : "/tmp/farport-fuzz-XXXXXX";
    require(::mkdtemp(path.data()) != nullptr, "there is room for a dump");
    path_ = path;
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file() const { return path_ + "/dump"; }
  [[nodiscard]] bool empty() const { return fs::is_empty(path_); }

 private:
  std::string path_;
};

std::vector<std::byte> compress(std::span<const std::byte> bytes) {
  ZstdCompressor compressor(1);
  std::vector<std::byte> out(ZSTD_compressBound(bytes.size()) + 64);
  const auto step = compressor.step(bytes, out, ZstdCompressor::Then::end);
  require(step && step->ended, "a dump can be compressed");
  out.resize(step->made);
  return out;
}

std::string content_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// What is sent, and what it stands for.
struct Sent {
  std::vector<std::byte> body;
  std::vector<std::byte> dump;
};

Sent make(unsigned ways, std::span<const std::byte> rest) {
  Sent sent;
  if ((ways & kZeros) != 0) sent.dump.resize(kPages);
  sent.dump.insert(sent.dump.end(), rest.begin(), rest.end());
  const bool compressed = (ways & kCompressed) != 0;
  sent.body = compressed && (ways & kEncode) != 0 ? compress(sent.dump) : sent.dump;
  return sent;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  static const Directory directory;
  const unsigned ways = data[0];
  const bool compressed = (ways & kCompressed) != 0;
  const Sent sent = make(ways, std::as_bytes(std::span(data, size)).subspan(4));
  // Mostly the right size.
  const std::uint64_t announced = std::min<std::uint64_t>(kMax, sent.dump.size() + data[2] * 256U - data[3]);

  const HeapPeak peak;
  auto file = OutputFile::create("the dump", directory.file(), OutputFile::Existing::replace,
                                 OutputFile::Named::on_commit);
  require(file.has_value(), "a file can be made");
  bool whole = false;
  {
    DumpSink sink(std::move(*file), announced, compressed);
    const std::size_t piece = kPiece * (1 + std::size_t{data[1]});
    for (std::span<const std::byte> rest = sent.body; !rest.empty();) {
      const auto part = rest.first(std::min(piece, rest.size()));
      rest = rest.subspan(part.size());
      sink.take(part);
      require(sink.size() <= announced, "no more is written than was announced");
    }
    require(!fs::exists(directory.file()), "a dump has no name before it is whole");
    sink.commit();
    whole = !sink.failure();
    require(whole || !sink.failure()->why.empty(), "a dump that is not whole says why");
  }
  require(peak.bytes() <= (10 << 20), "a dump takes a window's memory");
  if (!whole) {
    require(directory.empty(), "nothing is left of a dump that is not whole");
    const bool must = (!compressed || (ways & kEncode) != 0) && announced == sent.dump.size();
    require(!must, "a dump that comes whole is kept");
    return 0;
  }
  const std::string content = content_of(directory.file());
  require(content.size() == announced, "a dump has the size that was announced");
  if (!compressed || (ways & kEncode) != 0)
    require(std::ranges::equal(std::as_bytes(std::span(content)), sent.dump), "a dump is what was sent");
  fs::remove(directory.file());
  return 0;
}
