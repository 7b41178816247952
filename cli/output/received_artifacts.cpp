#include "cli/output/received_artifacts.hpp"

#include <cerrno>
#include <iterator>
#include <span>
#include <string_view>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"

namespace farport::cli {
namespace {

constexpr const char* kJournal = ".farport-received";
constexpr std::string_view kPart = ".part";
/// Some hundred thousand ids.
constexpr std::size_t kMaxJournal = std::size_t{64} << 20;
constexpr std::size_t kPieceBytes = 256 * 1024;

}  // namespace

Result<void> ArtifactPart::read_begun(bool may_continue) {
  if (!may_continue && ::ftruncate(file_.get(), 0) != 0) return fail_errno("write", path_, errno);
  std::vector<std::byte> piece(kPieceBytes);
  for (;;) {
    const ssize_t got = ::read(file_.get(), piece.data(), piece.size());
    if (got < 0) return fail_errno("read", path_, errno);
    if (got == 0) return {};
    if (check_.add(std::span(piece).first(static_cast<std::size_t>(got)))) continue;
    // It is not what it was begun as.
    check_ = router::ArtifactCheck(artifact_);
    if (::ftruncate(file_.get(), 0) != 0 || ::lseek(file_.get(), 0, SEEK_SET) != 0)
      return fail_errno("write", path_, errno);
  }
}

Result<void> ArtifactPart::append(const std::vector<std::byte>& bytes) {
  RETURN_IF_ERROR(check_.add(bytes));
  const int error = write_whole(file_.get(), bytes);
  return error == 0 ? Result<void>() : refuse(error);
}

Result<void> ArtifactPart::refuse(int error) {
  refused_ = fail_errno("write", path_, error).value();
  return tl::unexpected(*refused_);
}

Result<void> ArtifactPart::end() {
  const Result<void> checked = check_.end();
  if (!checked) ::unlink(path_.c_str());
  RETURN_IF_ERROR(checked);
  return ::fsync(file_.get()) == 0 ? Result<void>() : refuse(errno);
}

Result<std::unique_ptr<ReceivedArtifacts>> ReceivedArtifacts::open(std::string path) {
  constexpr const char* kUse = "receive into";
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno(kUse, path, errno);
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail_errno(kUse, path, errno);
  struct stat found {};
  if (::fstat(directory.get(), &found) != 0) return fail_errno(kUse, path, errno);
  if (!is_ours_alone(found))
    return fail(kUse, path, "others could write there", "name a directory of your own, with mode 0700");
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return fail(kUse, path, "another process does so already");
  UniqueFd journal(
      ::openat(directory.get(), kJournal, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!journal) return fail_errno("write", path + "/" + kJournal, errno);
  auto received =
      std::make_unique<ReceivedArtifacts>(std::move(path), std::move(directory), std::move(journal));
  RETURN_IF_ERROR(received->read_journal());
  RETURN_IF_ERROR(received->name_the_nameless());
  return received;
}

Result<void> ReceivedArtifacts::read_journal() {
  const auto text = read_limited(journal_.get(), kMaxJournal);
  if (!text) return fail_errno("read", path_ + "/" + kJournal, errno);
  std::string_view rest = *text;
  // A line without an end was being written, and the file of that id has no name yet.
  const std::size_t whole = rest.rfind('\n');
  const std::size_t size = whole == std::string_view::npos ? 0 : whole + 1;
  if (size < rest.size() && ::ftruncate(journal_.get(), static_cast<off_t>(size)) != 0)
    return fail_errno("write", path_ + "/" + kJournal, errno);
  rest = rest.substr(0, size);
  while (!rest.empty()) ids_.emplace(take_until(rest, '\n'));
  return {};
}

Result<void> ReceivedArtifacts::name_the_nameless() const {
  for (const std::string& name : entries_of(directory_.get(), ".")) {
    if (!name.ends_with(kPart)) continue;
    const std::string file = name.substr(1, name.size() - 1 - kPart.size());
    const auto known = ids_.upper_bound(file);
    // The id before it in order is the longest one that it may begin with.
    if (known == ids_.begin() || !file.starts_with(*std::prev(known))) continue;
    if (::renameat(directory_.get(), name.c_str(), directory_.get(), file.c_str()) != 0)
      return fail_errno("write", path_ + "/" + file, errno);
  }
  return {};
}

std::string ReceivedArtifacts::part_of(const std::string& file_name) const {
  return fmt::format("{}/.{}{}", path_, file_name, kPart);
}

Result<std::unique_ptr<ArtifactPart>> ReceivedArtifacts::begin(const router::Artifact& artifact) const {
  const std::string path = part_of(artifact.file_name());
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail_errno("write", path, errno);
  auto part = std::make_unique<ArtifactPart>(std::move(file), path, artifact);
  // What is made for each who gets it may differ each time.
  RETURN_IF_ERROR(part->read_begun(!artifact.sha256.empty()));
  return part;
}

Result<void> ReceivedArtifacts::describe(const router::Artifact& artifact) const {
  ASSIGN_OR_RETURN(auto about,
                   OutputFile::create("what is said of it", path_ + "/" + artifact.id + ".json",
                                      OutputFile::Existing::replace, OutputFile::Named::on_commit));
  const std::string text = router::to_json(artifact) + "\n";
  RETURN_IF_ERROR(about->append(std::as_bytes(std::span(text))));
  return about->keep();
}

Result<std::string> ReceivedArtifacts::keep(const router::Artifact& artifact) {
  const std::string name = artifact.file_name();
  std::string path = path_ + "/" + name;
  RETURN_IF_ERROR(describe(artifact));
  const std::string line = artifact.id + "\n";
  const bool noted =
      write_whole(journal_.get(), std::as_bytes(std::span(line))) == 0 && ::fsync(journal_.get()) == 0;
  if (!noted) return fail_errno("write", path_ + "/" + kJournal, errno);
  ids_.insert(artifact.id);
  if (::rename(part_of(name).c_str(), path.c_str()) != 0) return fail_errno("write", path, errno);
  std::ignore = ::fsync(directory_.get());
  return path;
}

}  // namespace farport::cli
