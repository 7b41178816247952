#include "router/reach/static_program.hpp"

#include <array>
#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "transport/offload.hpp"

namespace farport::router {
namespace {

using transport::Task;

constexpr const char* kSelf = "/proc/self/exe";
constexpr const char* kName = "farport-static";
/// Several times what it takes: anything larger is something else.
constexpr std::size_t kLargest = 64ULL << 20;
constexpr std::string_view kElf =
    "\x7F"
    "ELF";
/// zlib's window of 32 KiB, with a header of gzip's (zlib.h, deflateInit2).
constexpr int kGzipWindow = 15 + 16;
constexpr int kMemoryLevel = 8;

/// Without a program interpreter this one is static.
bool is_static() {
  return ::getauxval(AT_BASE) == 0;
}

/// Empty where there is none.
std::string installed_path() {
  if (is_static()) return kSelf;
  std::array<char, 4096> self{};
  const ssize_t size = ::readlink(kSelf, self.data(), self.size());
  if (size <= 0) return {};
  const std::string path(self.data(), static_cast<std::size_t>(size));
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  for (const std::string& candidate : {directory + kName, directory + "../libexec/farport/" + kName}) {
    if (::access(candidate.c_str(), R_OK) == 0) return candidate;
  }
  return {};
}

Result<std::vector<std::byte>> read_program(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return fail_errno("read", path, errno);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || size > kLargest) return fail("read", path, "it is no program");
  std::vector<std::byte> content(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(file.get(), content.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail("read", path, "it has changed meanwhile");
    done += static_cast<std::size_t>(got);
  }
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (!text.starts_with(kElf)) return fail("read", path, "it is no program");
  return content;
}

std::string sha256(std::span<const std::byte> content) {
  std::array<std::byte, 32> digest{};
  EVP_Digest(content.data(), content.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
             EVP_sha256(), nullptr);
  return hex(digest);
}

Result<std::shared_ptr<const StaticProgram>> load_now(const std::string& named) {
  const std::string path = named.empty() ? installed_path() : named;
  if (path.empty()) {
    return fail("find", "the static farport", "it is not installed here",
                "build it with scripts/build --static, or name it with --static-binary FILE");
  }
  auto content = read_program(path);
  if (!content) return tl::unexpected(content.error());
  std::string digest = sha256(*content);
  return std::make_shared<const StaticProgram>(std::move(*content), std::move(digest));
}

std::vector<std::byte> compress(std::span<const std::byte> content) {
  z_stream stream{};
  // The network is waited for as well as this: the fastest level has most of the gain.
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY);
  std::vector<std::byte> packed(deflateBound(&stream, content.size()));
  // zlib's interface has no const; it does not write there.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

Result<std::shared_ptr<const StaticProgram>> StaticProgramFile::load_once() {
  const std::lock_guard lock(reading_);
  if (auto known = read_.lock()) return known;
  auto loaded = load_now(path_);
  if (loaded) read_ = *loaded;
  return loaded;
}

Task<Result<std::shared_ptr<const StaticProgram>>> StaticProgramFile::load(transport::Loop& loop) {
  const auto loaded = std::make_shared<std::optional<Result<std::shared_ptr<const StaticProgram>>>>();
  std::function<void()> work = [loaded, self = shared_from_this()] { *loaded = self->load_once(); };
  transport::Offload offload(loop, std::move(work));
  co_await offload.done();
  co_return std::move(**loaded);
}

Task<std::vector<std::byte>> gzip(transport::Loop& loop, std::shared_ptr<const StaticProgram> program) {
  const auto packed = std::make_shared<std::vector<std::byte>>();
  std::function<void()> work = [packed, program] { *packed = compress(program->content()); };
  transport::Offload offload(loop, std::move(work));
  co_await offload.done();
  co_return std::move(*packed);
}

}  // namespace farport::router
