#include "router/agent/recorder/ended_runtimes.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"

namespace farport::router {
namespace {

constexpr std::string_view kRecording = ".nettrace";
constexpr std::string_view kAbout = ".json";
constexpr std::size_t kMaxAbout = std::size_t{256} << 10;
/// More than a directory of the usual size has.
constexpr std::size_t kMaxEntries = 20'000;
constexpr std::size_t kMaxNameInId = 40;

bool is_id_letter(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') ||
         each == '-' || each == '_' || each == '.';
}

bool is_recording_id(std::string_view text) {
  return !text.empty() && text.front() != '.' && std::ranges::all_of(text, is_id_letter);
}

/// Ids sort by time: "20261127T101112Z-orders-4711-1a2b3c4d".
std::string new_id(const EndedRuntime& ended) {
  std::string time = ended.ended;
  std::erase_if(time, [](char each) { return each == '-' || each == ':'; });
  std::string name = ended.runtime.name.substr(0, kMaxNameInId);
  std::ranges::replace_if(
      name, [](char each) { return !is_id_letter(each); }, '_');
  return fmt::format("{}-{}-{}-{}", time, name, ended.runtime.pid, random_token().substr(0, 8));
}

std::uint64_t size_at(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
}

Error unknown(const std::string& id) {
  return {"find the recording", id, "there is none with this id", "see farport crashes", Cause(ENOENT)};
}

}  // namespace

std::string EndedRuntimes::path_of(const std::string& id, std::string_view ending) const {
  return fmt::format("{}/{}{}", directory_, id, ending);
}

Result<void> EndedRuntimes::check() const {
  struct stat found {};
  if (::stat(directory_.c_str(), &found) != 0)
    return fail_errno("use the recorder's directory", directory_, errno);
  if (!S_ISDIR(found.st_mode)) return fail_errno("use the recorder's directory", directory_, ENOTDIR);
  const bool ours = found.st_uid == ::geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!ours)
    return fail("use the recorder's directory", directory_, "others could write there",
                "let it belong to the agent's user, with mode 0700");
  if (::access(directory_.c_str(), W_OK) != 0)
    return fail_errno("use the recorder's directory", directory_, errno);
  return {};
}

Result<void> EndedRuntimes::write(const EndedRuntime& ended, RecentFile& file, std::uint64_t& size) const {
  using Existing = OutputFile::Existing;
  using Named = OutputFile::Named;
  ASSIGN_OR_RETURN(const auto recording, OutputFile::create("the recording", path_of(ended.id, kRecording),
                                                            Existing::refuse, Named::from_start));
  for (;;) {
    const std::vector<std::byte> piece = file.next();
    if (piece.empty()) break;
    RETURN_IF_ERROR(recording->append(piece));
  }
  size = recording->size();
  RETURN_IF_ERROR(recording->keep());
  EndedRuntime about = ended;
  about.bytes = size;
  // Last: what has no description is not listed.
  ASSIGN_OR_RETURN(const auto description, OutputFile::create("the recording", path_of(ended.id, kAbout),
                                                              Existing::refuse, Named::from_start));
  const std::string text = to_json(about);
  RETURN_IF_ERROR(description->append(std::as_bytes(std::span(text))));
  return description->keep();
}

Result<void> EndedRuntimes::keep(EndedRuntime& ended, RecentFile file, std::size_t& removed) const {
  ended.id = new_id(ended);
  for (;;) {
    RecentFile again = file;
    const Result<void> written = write(ended, again, ended.bytes);
    if (written) break;
    ::unlink(path_of(ended.id, kRecording).c_str());
    const bool full = written.error().cause == ENOSPC || written.error().cause == EDQUOT;
    if (!full || !remove_one(ended.id)) return written;
    ++removed;
  }
  for (;;) {
    std::uint64_t total = 0;
    for (const std::string& name : entries_of(directory_, {}, kMaxEntries))
      total += size_at(directory_ + "/" + name);
    if (total <= most_bytes_ || !remove_one(ended.id)) return {};
    ++removed;
  }
}

bool EndedRuntimes::remove_one(const std::string& but) const {
  std::vector<EndedRuntime> kept = all();
  std::erase_if(kept, [&but](const EndedRuntime& each) { return each.id == but; });
  if (kept.empty()) return false;
  auto one = std::ranges::find_if(kept, &EndedRuntime::in_order);
  if (one == kept.end()) one = kept.begin();
  // A description without a recording is worse than the reverse.
  const bool gone = ::unlink(path_of(one->id, kAbout).c_str()) == 0;
  return ::unlink(path_of(one->id, kRecording).c_str()) == 0 || gone;
}

std::vector<EndedRuntime> EndedRuntimes::all() const {
  std::vector<std::string> names = entries_of(directory_, {}, kMaxEntries);
  std::ranges::sort(names);
  std::vector<EndedRuntime> all;
  for (const std::string& name : names) {
    if (!name.ends_with(kAbout)) continue;
    auto ended = find(name.substr(0, name.size() - kAbout.size()));
    if (ended) all.push_back(std::move(*ended));
  }
  return all;
}

Result<EndedRuntime> EndedRuntimes::find(const std::string& id) const {
  if (!is_recording_id(id)) return tl::unexpected(unknown(id));
  const auto text = read_regular_file("what is kept", path_of(id, kAbout), kMaxAbout);
  if (!text && text.error().cause == ENOENT) return tl::unexpected(unknown(id));
  if (!text) return tl::unexpected(text.error());
  ASSIGN_OR_RETURN(auto ended, ended_from_json(*text));
  // Whatever the file says, this is its name.
  ended.id = id;
  return ended;
}

Result<UniqueFd> EndedRuntimes::open(const std::string& id) const {
  if (!is_recording_id(id)) return tl::unexpected(unknown(id));
  const std::string path = path_of(id, kRecording);
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file && errno == ENOENT) return tl::unexpected(unknown(id));
  if (!file) return fail_errno("read", path, errno);
  return file;
}

}  // namespace farport::router
