// Fuzzes how an archive comes apart. The first byte of an input says in what pieces it comes, and whether the
// sum of its first header is made right.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/tar.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport;
using farport::fuzz::require;

namespace {

constexpr std::uint64_t kMost = 64 * 1024;
constexpr unsigned kPieces = 0x7F;

/// Keeps the promises of an archive in mind.
class Watched final : public TarFiles {
 public:
  [[nodiscard]] bool is_in_file() const { return left_ > 0; }

 private:
  Result<void> begin(const std::string& name, std::uint64_t size) override {
    require(left_ == 0 && !open_, "a file begins after the last one has ended");
    require(is_tar_name(name), "a file has a plain name");
    total_ += size;
    require(total_ <= kMost, "no more comes than may come");
    left_ = size;
    open_ = true;
    return {};
  }
  Result<void> append(std::span<const std::byte> bytes) override {
    require(open_ && bytes.size() <= left_, "a file is as large as it was said to be");
    left_ -= bytes.size();
    return {};
  }
  Result<void> end() override {
    require(open_ && left_ == 0, "a file ends when it is whole");
    open_ = false;
    return {};
  }

  std::uint64_t left_ = 0;
  std::uint64_t total_ = 0;
  bool open_ = false;
};

/// Makes the sum of a header right, so that more than the sum is tried.
void mend(std::vector<char>& archive) {
  constexpr std::size_t kSum = 148;
  constexpr std::size_t kSumSize = 8;
  if (archive.size() < kTarBlock) return;
  std::fill_n(archive.begin() + kSum, kSumSize, ' ');
  unsigned sum = 0;
  for (std::size_t at = 0; at < kTarBlock; ++at) sum += static_cast<unsigned char>(archive[at]);
  const std::string text = fmt::format("{:06o}", sum);
  std::memcpy(archive.data() + kSum, text.data(), std::min(text.size(), kSumSize));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  std::vector<char> archive(data + 1, data + size);
  if ((data[0] & ~kPieces) != 0) mend(archive);
  const std::size_t piece = 1 + std::size_t{data[0] & kPieces} * 8;
  Watched files;
  TarReader reader(files, kMost);
  Result<void> taken;
  for (std::size_t at = 0; taken && at < archive.size(); at += piece)
    taken = reader.take(std::as_bytes(std::span(archive)).subspan(at, std::min(piece, archive.size() - at)));
  if (taken) taken = reader.finish();
  require(taken || !taken.error().why.empty(), "an archive that is not whole says why");
  require(!taken || !files.is_in_file(), "an archive that is whole has whole files");
  return 0;
}
