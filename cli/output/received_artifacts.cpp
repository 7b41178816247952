#include "cli/output/received_artifacts.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/escape.hpp"
#include "base/files.hpp"
#include "base/output_file.hpp"
#include "router/wire/dump.hpp"
#include "router/wire/json_members.hpp"
#include "router/wire/runtime_json.hpp"

namespace farport::cli {
namespace {

constexpr const char* kJournal = ".farport-received";
constexpr std::string_view kPart = ".part";
constexpr std::string_view kDescription = ".json";
constexpr std::size_t kPieceBytes = 256 * 1024;
/// A file's name has at most 255 bytes, and the agent and the kind may have 64 each.
constexpr std::size_t kMaxId = 90;

/// How much is taken of a content whose size the agent has not said: it was broken off, or is made for each
/// who gets it. What is compressed there may become some ten times as large.
constexpr std::uint64_t kMostUnknown = std::uint64_t{256} << 20;
constexpr std::uint64_t kMostRatio = 100;

std::uint64_t most_of(const router::Artifact& artifact) {
  const std::uint64_t by_ratio =
      artifact.bytes > UINT64_MAX / kMostRatio ? UINT64_MAX : artifact.bytes * kMostRatio;
  return std::max(kMostUnknown, by_ratio);
}

bool is_there(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0;
}

/// A line of the journal.
struct Line {
  bool has_come = false;  ///< Or has begun.
  std::string key;
  ReceivedNames names;
};

std::string text_of(const Line& line) {
  return router::text_of(router::json{{"has_come", line.has_come},
                                      {"artifact", line.key},
                                      {"content", line.names.content},
                                      {"about", line.names.about}});
}

Result<Line> line_in(std::string_view text) {
  try {
    const router::json object = parse_bounded(text, router::kEventValues);
    return Line{object.at("has_come").get<bool>(),
                router::text_in(object, "artifact"),
                {router::text_in(object, "content"), router::text_in(object, "about")}};
  } catch (const std::exception& error) {
    return fail("read", "a line", router::reason_of(error));
  }
}

Result<void> check_free(const std::string& path) {
  if (!is_there(path)) return {};
  return fail_errno("receive into", path, EEXIST, "move that file away");
}

}  // namespace

std::string key_of(const router::Artifact& artifact) {
  return artifact.id + "\n" + artifact.sha256;
}

ReceivedNames received_names(std::string_view agent, const router::Artifact& artifact) {
  const std::string name = fmt::format("{}_{}_{}", file_name_for(agent), file_name_for(artifact.kind),
                                       artifact.id.substr(0, kMaxId));
  return {name + artifact.ending, name + std::string(kDescription)};
}

ArtifactPart::ArtifactPart(UniqueFd file, std::string path, router::Artifact artifact)
    : file_(std::move(file)),
      path_(std::move(path)),
      artifact_(std::move(artifact)),
      check_(artifact_, most_of(artifact_)) {}

Result<void> ArtifactPart::read_begun(bool may_continue) {
  if (!may_continue && ::ftruncate(file_.get(), 0) != 0) return fail_errno("write", path_, errno);
  std::vector<std::byte> piece(kPieceBytes);
  for (;;) {
    const ssize_t got = ::read(file_.get(), piece.data(), piece.size());
    if (got < 0) return fail_errno("read", path_, errno);
    if (got == 0) return {};
    if (check_.add(std::span(piece).first(static_cast<std::size_t>(got)))) continue;
    // It is not what it was begun as.
    check_ = router::ArtifactCheck(artifact_, most_of(artifact_));
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
  auto received = std::make_unique<ReceivedArtifacts>(std::move(path), std::move(directory));
  RETURN_IF_ERROR(received->read_journal());
  return received;
}

Result<void> ReceivedArtifacts::read_journal() {
  const std::string path = path_of(kJournal);
  std::set<std::string, std::less<>> named;
  const auto take = [&](std::string_view text) -> Result<void> {
    auto line = line_in(text);
    if (!line)
      return fail("read", path, fmt::format("it has a line that can't be understood ({})", line.error().why),
                  "move it away, and what has come, too: all comes once more then");
    if (!line->has_come) {
      // Another one of an id that has come before.
      named.erase(line->names.content);
      named.erase(line->names.about);
      begun_[line->key] = std::move(line->names);
      return {};
    }
    begun_.erase(line->key);
    received_.insert(std::move(line->key));
    named.insert({std::move(line->names.content), std::move(line->names.about)});
    return {};
  };
  ASSIGN_OR_RETURN(journal_, Journal::open(path, take));
  for (const std::string& part : entries_of(directory_.get(), ".")) {
    if (!part.ends_with(kPart)) continue;
    const std::string file = part.substr(1, part.size() - 1 - kPart.size());
    if (!named.contains(file)) continue;
    RETURN_IF_ERROR(give_name(file));
  }
  return {};
}

std::string ReceivedArtifacts::part_of(const std::string& file) const {
  return fmt::format("{}/.{}{}", path_, file, kPart);
}

Result<void> ReceivedArtifacts::give_name(const std::string& file) const {
  const int error = rename_unless_there(part_of(file), path_of(file));
  if (error == 0) return {};
  return fail_errno("write", path_of(file), error,
                    error == EEXIST ? "move that file away, and start this again" : "");
}

bool ReceivedArtifacts::has(const router::Artifact& artifact) const {
  const std::lock_guard held(mutex_);
  return received_.contains(key_of(artifact));
}

std::optional<ReceivedNames> ReceivedArtifacts::begun(const router::Artifact& artifact) const {
  const std::lock_guard held(mutex_);
  const auto known = begun_.find(key_of(artifact));
  return known == begun_.end() ? std::nullopt : std::optional(known->second);
}

Result<std::unique_ptr<ArtifactPart>> ReceivedArtifacts::begin(const router::Artifact& artifact,
                                                               std::string_view agent) {
  const auto known = begun(artifact);
  const ReceivedNames names = known.value_or(received_names(agent, artifact));
  for (const std::string& name : {names.content, names.about}) {
    RETURN_IF_ERROR(check_free(path_of(name)));
    const Result<void> free = known ? Result<void>() : check_free(part_of(name));
    RETURN_IF_ERROR(free);
  }
  RETURN_IF_ERROR(check_space(artifact));
  if (!known) {
    RETURN_IF_ERROR(journal_->append(text_of({false, key_of(artifact), names})));
    const std::lock_guard held(mutex_);
    begun_[key_of(artifact)] = names;
  }
  const std::string path = part_of(names.content);
  UniqueFd content(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!content) return fail_errno("write", path, errno);
  auto part = std::make_unique<ArtifactPart>(std::move(content), path, artifact);
  // What is made for each who gets it may differ each time.
  RETURN_IF_ERROR(part->read_begun(!artifact.sha256.empty()));
  return part;
}

Result<void> ReceivedArtifacts::check_space(const router::Artifact& artifact) const {
  struct statvfs disk {};
  if (::fstatvfs(directory_.get(), &disk) != 0) return {};
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::uint64_t wanted = std::max(artifact.size, artifact.bytes);
  if (wanted <= free) return {};
  Error none{"receive", artifact.id,
             fmt::format("it has {}, and only {} are free in {}", router::mebibytes(wanted),
                         router::mebibytes(free), path_),
             "make room", Cause(ENOSPC)};
  return tl::unexpected(std::move(none));
}

Result<void> ReceivedArtifacts::describe(const router::Artifact& artifact, const std::string& file) const {
  ASSIGN_OR_RETURN(auto about,
                   OutputFile::create("what is said of it", part_of(file), OutputFile::Existing::replace,
                                      OutputFile::Named::on_commit));
  const std::string text = router::to_json(artifact) + "\n";
  RETURN_IF_ERROR(about->append(std::as_bytes(std::span(text))));
  return about->keep();
}

Result<std::string> ReceivedArtifacts::keep(const router::Artifact& artifact) {
  const auto names = begun(artifact);
  if (!names) return fail("keep", artifact.id, "it has not begun");
  RETURN_IF_ERROR(describe(artifact, names->about));
  RETURN_IF_ERROR(journal_->append(text_of({true, key_of(artifact), *names})));
  {
    const std::lock_guard held(mutex_);
    begun_.erase(key_of(artifact));
    received_.insert(key_of(artifact));
  }
  RETURN_IF_ERROR(give_name(names->about));
  RETURN_IF_ERROR(give_name(names->content));
  std::ignore = ::fsync(directory_.get());
  return path_of(names->content);
}

}  // namespace farport::cli
