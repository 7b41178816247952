#include "router/agent/recorder/ended_runtimes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <span>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "router/agent/recorder/compressed_file.hpp"

namespace farport::router {
namespace {

constexpr std::string_view kRecording = ".nettrace.zst";
constexpr std::array<std::string_view, 2> kNames{".names-1.nettrace.zst", ".names-2.nettrace.zst"};
constexpr std::string_view kSamples = ".samples.zst";
constexpr std::string_view kAbout = ".json";
/// An id has none of them at its end.
constexpr std::array kEndings{kAbout, kSamples, kNames[0], kNames[1], kRecording};
constexpr std::size_t kMaxAbout = std::size_t{64} << 10;
constexpr std::size_t kMaxNameInId = 40;
constexpr std::size_t kMaxId = 200;
/// What a process says of itself is cut to these sizes, in bytes: a list of all must not become too long.
constexpr std::size_t kMaxText = 256;
constexpr std::size_t kMaxCommandLine = 1024;
/// What is older than this and not whole is not being written any more.
constexpr std::chrono::minutes kLeftBehind{10};
/// For the description, and what the file system needs for all files.
constexpr std::uint64_t kAroundRecording = std::uint64_t{16} << 10;
/// For files that have hardly any contents.
constexpr std::uint64_t kLeastRoom = 4096;

bool is_id_letter(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') ||
         each == '-' || each == '_' || each == '.';
}

bool is_recording_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxId && text.front() != '.' &&
         std::ranges::all_of(text, is_id_letter);
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

/// Cuts all that the process has said of itself.
void cut_texts(Runtime& runtime) {
  for (std::string* text : {&runtime.name, &runtime.os, &runtime.architecture, &runtime.version,
                            &runtime.host, &runtime.container.name, &runtime.container.pod})
    text->resize(shortened(*text, kMaxText).size());
  runtime.command_line.resize(shortened(runtime.command_line, kMaxCommandLine).size());
}

/// Begins a file, which is removed again unless it is kept.
Result<std::unique_ptr<OutputFile>> create_file(const std::string& path) {
  return OutputFile::create("the recording", path, OutputFile::Existing::refuse,
                            OutputFile::Named::from_start);
}

/// Writes a whole one, and takes its size from `room`.
template <typename File>
Result<std::unique_ptr<OutputFile>> write_file(const std::string& path, File file, std::uint64_t& room) {
  ASSIGN_OR_RETURN(auto to, create_file(path));
  CompressedFile compressed(*to);
  for (bool is_over = false; !is_over;) {
    const std::vector<std::byte> piece = file.next();
    is_over = piece.empty();
    RETURN_IF_ERROR(is_over ? compressed.end() : compressed.append(piece));
    if (to->size() > room)
      return fail("keep the recording in", path, "it takes far more there than in memory");
  }
  room -= to->size();
  return to;
}

/// Null if it can't be opened.
std::shared_ptr<const UniqueFd> open_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file ? std::make_shared<const UniqueFd>(std::move(file)) : nullptr;
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

Result<void> EndedRuntimes::write(EndedRuntime& ended, const RecentFiles& files, std::uint64_t room) const {
  std::vector<std::unique_ptr<OutputFile>> written(1);
  ASSIGN_OR_RETURN(written.front(), write_file(path_of(ended.id, kRecording), files.events, room));
  if (!files.samples.empty()) {
    ASSIGN_OR_RETURN(auto samples, write_file(path_of(ended.id, kSamples), files.samples, room));
    written.push_back(std::move(samples));
  }
  for (std::size_t at = 0; at < std::min(files.names.size(), kNames.size()); ++at) {
    ASSIGN_OR_RETURN(auto names, write_file(path_of(ended.id, kNames.at(at)), files.names[at], room));
    written.push_back(std::move(names));
  }
  ended.bytes = 0;
  for (const auto& each : written) ended.bytes += each->size();
  // What has no description is not listed, so it is the last one.
  ASSIGN_OR_RETURN(auto about, create_file(path_of(ended.id, kAbout)));
  const std::string text = to_json(ended);
  RETURN_IF_ERROR(about->append(std::as_bytes(std::span(text))));
  written.push_back(std::move(about));
  for (const auto& each : written) {
    RETURN_IF_ERROR(each->keep());
  }
  return {};
}

Result<void> EndedRuntimes::keep(EndedRuntime& ended, const RecentFiles& files, std::size_t& removed) const {
  cut_texts(ended.runtime);
  ended.id = new_id(ended);
  // Compressed as a whole, it is mostly smaller than it is in memory. What repeats itself far apart, as that
  // of a hostile runtime may, is larger.
  std::uint64_t room = files.events.held() + files.samples.held();
  for (const RecentFile& each : files.names) room += each.held();
  room += room / 4 + kLeastRoom;
  RETURN_IF_ERROR(make_room(room + kAroundRecording, !ended.in_order, removed));
  return write(ended, files, room);
}

std::vector<EndedRuntimes::Kept> EndedRuntimes::contents() const {
  std::map<std::string, Kept> by_id;
  const std::time_t left_behind = std::time(nullptr) - std::chrono::seconds(kLeftBehind).count();
  for (const std::string& name : entries_of(directory_)) {
    const auto* const ending =
        std::ranges::find_if(kEndings, [&name](std::string_view each) { return name.ends_with(each); });
    if (ending == kEndings.end()) continue;
    struct stat found {};
    if (::lstat((directory_ + "/" + name).c_str(), &found) != 0) continue;
    const std::string id = name.substr(0, name.size() - ending->size());
    const auto [kept, is_new] = by_id.try_emplace(id, Kept{id, 0, Kept::Rank::leftover});
    kept->second.bytes += static_cast<std::uint64_t>(found.st_size);
    if (found.st_mtime > left_behind) kept->second.rank = Kept::Rank::fresh;
  }
  std::vector<Kept> all;
  for (auto& [id, kept] : by_id) {
    if (const auto ended = find(id)) kept.rank = ended->in_order ? Kept::Rank::in_order : Kept::Rank::crash;
    all.push_back(std::move(kept));
  }
  return all;
}

Result<void> EndedRuntimes::make_room(std::uint64_t bytes, bool for_crash, std::size_t& removed) const {
  std::vector<Kept> all = contents();
  // Those of a rank stay in the order of their ids, which is that of time.
  std::ranges::stable_sort(all, {}, &Kept::rank);
  struct statvfs disk {};
  if (::statvfs(directory_.c_str(), &disk) != 0) return fail_errno("write to", directory_, errno);
  std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  std::uint64_t total = bytes;
  for (const Kept& each : all) total += each.bytes;

  const Kept::Rank last = for_crash ? Kept::Rank::crash : Kept::Rank::in_order;
  std::size_t going = 0;
  const auto has_room = [&] {
    return free >= bytes && total <= most_bytes_ && all.size() - going < kMaxEndedRuntimes;
  };
  for (; !has_room() && going < all.size() && all[going].rank <= last; ++going) {
    free += all[going].bytes;
    total -= all[going].bytes;
  }
  // One that is larger than all may be is kept alone.
  const bool alone = for_crash && going == all.size() && free >= bytes;
  if (!has_room() && !alone)
    return fail("keep the recording in", directory_, "there is no room",
                "make room on the disk, or raise recorder.directory_size");
  for (const Kept& each : std::span(all).first(going)) {
    // A description without a recording is worse than the reverse.
    ::unlink(path_of(each.id, kAbout).c_str());
    for (const std::string_view beside : {kSamples, kNames[0], kNames[1]})
      ::unlink(path_of(each.id, beside).c_str());
    if (::unlink(path_of(each.id, kRecording).c_str()) == 0) ++removed;
  }
  return {};
}

std::vector<EndedRuntime> EndedRuntimes::all() const {
  std::vector<std::string> names = entries_of(directory_);
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
  if (!text) return tl::unexpected(unknown(id));
  ASSIGN_OR_RETURN(auto ended, ended_from_json(*text));
  // Whatever the file says, this is its name.
  ended.id = id;
  return ended;
}

Result<EndedRuntimes::Opened> EndedRuntimes::open(const std::string& id) const {
  if (!is_recording_id(id)) return tl::unexpected(unknown(id));
  Opened opened{open_file(path_of(id, kRecording)), open_file(path_of(id, kSamples))};
  if (!opened.events) return tl::unexpected(unknown(id));
  for (const std::string_view names : kNames) {
    if (auto file = open_file(path_of(id, names))) opened.names.push_back(std::move(file));
  }
  return opened;
}

}  // namespace farport::router
