#include "router/mirror/module_receiver.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/tar.hpp"
#include "router/mirror/agent_session.hpp"
#include "router/mirror/resumable_request.hpp"
#include "router/stream/compressing_stream.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/session_options.hpp"
#include "transport/offload.hpp"

namespace farport::router {
namespace {

using Existing = OutputFile::Existing;

/// What an agent may send at most.
constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 30;
constexpr std::size_t kMaxFiles = 5000;
constexpr std::size_t kArchiveAtOnce = std::size_t{512} << 10;
constexpr const char* kModules = "the runtime's modules";

tl::unexpected<Error> not_written(const std::string& path, int error) {
  return fail_errno("write " + std::string(kModules) + " to", path, error);
}

/// Whether it is a directory of what may be replaced: libraries and assemblies.
bool has_modules_alone(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  return std::ranges::all_of(entries_of(path), [&path](const std::string& name) {
    struct stat file {};
    return (name.ends_with(".so") || name.ends_with(".dll")) &&
           ::lstat((path + "/" + name).c_str(), &file) == 0 && S_ISREG(file.st_mode);
  });
}

/// A directory of a name that nobody knows, with the files of an archive.
class ModuleDirectory final : public TarFiles {
 public:
  explicit ModuleDirectory(std::string part) : part_(std::move(part)) {}
  ~ModuleDirectory() override {
    file_.reset();
    if (part_.empty()) return;
    for (const std::string& name : entries_of(part_)) ::unlink((part_ + "/" + name).c_str());
    ::rmdir(part_.c_str());
  }

  /// Gives it its name. What had that, and may be replaced, goes with this object.
  [[nodiscard]] Result<void> keep(const std::string& path, Existing existing) {
    if (files_ == 0) return fail("unpack", kModules, "the archive is empty");
    int error = rename_unless_there(part_, path);
    if (error == 0) part_.clear();
    if (error == EEXIST && existing == Existing::replace && has_modules_alone(path))
      error = ::renameat2(AT_FDCWD, part_.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0 ? 0 : errno;
    return error == 0 ? Result<void>() : not_written(path, error);
  }

 private:
  Result<void> begin(const std::string& name, std::uint64_t size) override {
    if (++files_ > kMaxFiles) return fail("unpack", kModules, "there are too many");
    ASSIGN_OR_RETURN(file_, OutputFile::create(kModules, part_ + "/" + name, Existing::refuse,
                                               OutputFile::Named::on_commit));
    return file_->check_space(size);
  }
  Result<void> append(std::span<const std::byte> bytes) override { return file_->append(bytes); }
  Result<void> end() override {
    RETURN_IF_ERROR(file_->keep());
    file_.reset();
    return {};
  }

  std::string part_;  ///< Empty once it has its name.
  std::unique_ptr<OutputFile> file_;
  std::size_t files_ = 0;
};

}  // namespace

Result<void> check_place_for_modules(const std::string& path, Existing existing) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) return {};
  if (existing == Existing::replace && has_modules_alone(path)) return {};
  return tl::unexpected(Error{"write " + std::string(kModules) + " to", path, "it exists already",
                              "remove it, or choose another name", Cause(EEXIST)});
}

Result<void> unpack_modules(int archive, const std::string& path, Existing existing) {
  RETURN_IF_ERROR(check_place_for_modules(path, existing));
  std::string part = directory_of(path) + "/.farport-XXXXXX";
  if (::mkdtemp(part.data()) == nullptr) return not_written(path, errno);
  ModuleDirectory directory(std::move(part));
  TarReader reader(directory, kMaxBytes);
  std::vector<std::byte> piece(kArchiveAtOnce);
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(archive, piece.data(), piece.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read", "the archive", errno);
    if (got == 0) break;
    RETURN_IF_ERROR(reader.take(std::span(piece).first(static_cast<std::size_t>(got))));
    at += got;
  }
  RETURN_IF_ERROR(reader.finish());
  return directory.keep(path, existing);
}

namespace {

using transport::Io;
using transport::IoStatus;
using transport::Task;

/// A file without a name.
Result<UniqueFd> nameless_in(const std::string& directory) {
  UniqueFd file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file) return file;
  // Not every file system has such files.
  std::string name = directory + "/.farport-XXXXXX";
  file = UniqueFd(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) return not_written(directory, errno);
  ::unlink(name.c_str());
  return file;
}

Task<Result<void>> receive_archive(transport::Stream& from, std::shared_ptr<const UniqueFd> into) {
  const auto piece = std::make_shared<std::vector<std::byte>>(kArchiveAtOnce);
  for (std::uint64_t bytes = 0;;) {
    const Io got = co_await from.read(*piece);
    if (got.status == IoStatus::failed) co_return tl::unexpected(from.error());
    if (got.status == IoStatus::end) co_return Result<void>();
    bytes += got.bytes;
    if (bytes > kMaxBytes) co_return fail("receive", kModules, "the agent sends too much");
    std::function<int()> write = [into, piece, size = got.bytes] {
      return write_whole(into->get(), std::span(*piece).first(size));
    };
    const int error = co_await transport::offloaded(from.loop(), std::move(write));
    if (error != 0) co_return fail_errno("receive", kModules, error);
  }
}

}  // namespace

Task<Result<UniqueFd>> receive_modules(SessionManager& sessions, std::string runtime_id, WantedModules wanted,
                                       std::string directory) {
  CO_ASSIGN_OR_RETURN(auto made, nameless_in(directory));
  const auto file = std::make_shared<UniqueFd>(std::move(made));
  const std::string all = wanted == WantedModules::all ? "?all=true" : "";
  ResumableRequest request(sessions, "/v1/runtimes/" + runtime_id + "/modules" + all,
                           accepted_encodings(sessions.options()));
  const IoStatus head = co_await request.head_received();
  if (head != IoStatus::ok) co_return tl::unexpected(request.stream().error());
  if (request.head().status != http_status::kOk) {
    const auto refused = co_await read_body(request.head(), request.stream());
    co_return tl::unexpected(refused.error());
  }
  std::optional<DecompressingStream> plain;
  if (is_zstd(request.head())) plain.emplace(request.stream());
  transport::Stream* const from = plain ? static_cast<transport::Stream*>(&*plain) : &request.stream();
  CO_RETURN_IF_ERROR(co_await receive_archive(*from, file));
  co_return std::move(*file);
}

}  // namespace farport::router
