#include "router/agent/artifacts/artifacts.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <span>
#include <thread>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "router/agent/artifacts/compressed_file.hpp"

namespace farport::router {
namespace {

constexpr std::string_view kAbout = ".json";
/// What takes its place as a whole.
constexpr std::string_view kNextAbout = ".json.next";
constexpr std::string_view kContent = ".content.zst";
constexpr std::string_view kEvents = ".nettrace.zst";
constexpr std::string_view kSamples = ".samples.zst";
constexpr std::array<std::string_view, 2> kNames{".names-1.nettrace.zst", ".names-2.nettrace.zst"};
/// Those of names are before that of events, which they end with, too. An id has none of them at its end.
constexpr std::array kEndings{kAbout, kNextAbout, kContent, kSamples, kNames[0], kNames[1], kEvents};
constexpr std::size_t kMaxAbout = std::size_t{64} << 10;
constexpr std::size_t kMaxNameInId = 40;
/// What a process says of itself is cut to these sizes, in bytes: a list of all must not become too long.
constexpr std::size_t kMaxText = 256;
constexpr std::size_t kMaxCommandLine = 1024;
/// What is older than this and not whole is not being written any more.
constexpr std::chrono::minutes kLeftBehind{10};
/// For the description, and what the file system needs for all files.
constexpr std::uint64_t kAround = std::uint64_t{16} << 10;
constexpr int kLockTries = 50;
constexpr std::chrono::milliseconds kLockPause{20};
constexpr const char* kAgentEnded = "the agent ended while it was taken";
/// For files that have hardly any contents.
constexpr std::uint64_t kLeastRoom = 4096;

/// "20261127T101112Z-orders-4711-1a2b3c4d"
std::string new_id(const Artifact& artifact) {
  std::string time = artifact.time;
  std::erase_if(time, [](char each) { return each == '-' || each == ':'; });
  std::string name = artifact.runtime.name.substr(0, kMaxNameInId);
  std::ranges::replace_if(
      name, [](char each) { return !is_artifact_id_letter(each); }, '_');
  return fmt::format("{}-{}-{}-{}", time, name, artifact.runtime.pid, random_token().substr(0, 8));
}

/// Whether new_id() may have made this. The directory may have files that are no agent's.
bool is_of_agent(std::string_view id) {
  constexpr std::string_view kTime = "00000000T000000Z-";
  constexpr std::string_view kToken = "-00000000";
  if (id.size() < kTime.size() + kToken.size()) return false;
  const auto is_like = [](std::string_view text, std::string_view pattern, const char* digits) {
    return std::ranges::equal(text, pattern, [digits](char each, char of) {
      return of == '0' ? std::string_view(digits).find(each) != std::string_view::npos : each == of;
    });
  };
  return is_like(id.substr(0, kTime.size()), kTime, "0123456789") &&
         is_like(id.substr(id.size() - kToken.size()), kToken, "0123456789abcdef");
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
  return OutputFile::create("what is kept", path, OutputFile::Existing::refuse,
                            OutputFile::Named::from_start);
}

/// Writes a whole one, and takes its size from `room`.
Result<std::unique_ptr<OutputFile>> write_file(const std::string& path, const CrashPart& part,
                                               std::uint64_t& room) {
  ASSIGN_OR_RETURN(auto to, create_file(path));
  CompressedFile compressed(*to);
  for (bool is_over = false; !is_over;) {
    const std::vector<std::byte> piece = part.next();
    is_over = piece.empty();
    RETURN_IF_ERROR(is_over ? compressed.end() : compressed.append(piece));
    if (to->size() > room) return fail("keep the crash in", path, "it takes far more there than in memory");
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
  return {"find", id, "nothing is kept under this id", "farport artifacts lists what is", Cause(ENOENT)};
}

/// The endings of a crash's files, in the order of its parts.
Result<std::vector<std::string_view>> endings_of(const std::vector<CrashPart>& parts) {
  std::vector<std::string_view> endings;
  std::size_t names = 0;
  for (const CrashPart& each : parts) {
    switch (each.kind) {
      case CrashPart::Kind::events:
        endings.push_back(kEvents);
        break;
      case CrashPart::Kind::samples:
        endings.push_back(kSamples);
        break;
      case CrashPart::Kind::names:
        if (names == kNames.size()) return fail("keep", "a crash", "it has too many parts");
        endings.push_back(kNames.at(names++));
        break;
    }
  }
  return endings;
}

}  // namespace

std::string Artifacts::path_of(const std::string& id, std::string_view ending) const {
  return fmt::format("{}/{}{}", directory_, id, ending);
}

Result<void> Artifacts::check() const {
  constexpr const char* kUse = "use the directory for artifacts";
  if (::mkdir(directory_.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return fail_errno(kUse, directory_, errno);
  struct stat found {};
  if (::stat(directory_.c_str(), &found) != 0) return fail_errno(kUse, directory_, errno);
  if (!S_ISDIR(found.st_mode)) return fail_errno(kUse, directory_, ENOTDIR);
  // Kubernetes lets the pod's group write to everything in a volume, each time that it mounts it (fsGroup).
  const bool is_of_group = found.st_uid == ::geteuid() && (found.st_mode & S_IWOTH) == 0;
  if (is_of_group && !is_ours_alone(found) && ::chmod(directory_.c_str(), S_IRWXU) == 0)
    std::ignore = ::stat(directory_.c_str(), &found);
  if (!is_ours_alone(found))
    return fail(kUse, directory_, "others could write there",
                "name a directory in it that is not there yet, or let it belong to the agent's user alone");
  if (::access(directory_.c_str(), W_OK) != 0) return fail_errno(kUse, directory_, errno);
  return {};
}

Result<void> Artifacts::describe(const Artifact& artifact) const {
  // What a killed agent has left.
  const std::string next = path_of(artifact.id, kNextAbout);
  ::unlink(next.c_str());
  ASSIGN_OR_RETURN(auto about, create_file(next));
  const std::string text = to_json(artifact);
  RETURN_IF_ERROR(about->append(std::as_bytes(std::span(text))));
  RETURN_IF_ERROR(about->keep());
  if (::rename(next.c_str(), path_of(artifact.id, kAbout).c_str()) != 0)
    return fail_errno("describe", artifact.id, errno);
  return {};
}

Result<void> Artifacts::write(Artifact& crash, const std::vector<CrashPart>& parts,
                              std::uint64_t room) const {
  ASSIGN_OR_RETURN(const auto endings, endings_of(parts));
  std::vector<std::unique_ptr<OutputFile>> written;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    ASSIGN_OR_RETURN(auto file, write_file(path_of(crash.id, endings[at]), parts[at], room));
    written.push_back(std::move(file));
  }
  crash.bytes = 0;
  for (const auto& each : written) crash.bytes += each->size();
  for (const auto& each : written) {
    RETURN_IF_ERROR(each->keep());
  }
  auto described = describe(crash);
  if (!described) std::ignore = remove_files(crash.id);
  return described;
}

Result<void> Artifacts::keep(Artifact& crash, const std::vector<CrashPart>& parts,
                             std::size_t& removed) const {
  cut_texts(crash.runtime);
  crash.id = new_id(crash);
  // Compressed as a whole, it is mostly smaller than it is in memory. What repeats itself far apart, as that
  // of a hostile runtime may, is larger.
  std::uint64_t room = kLeastRoom;
  for (const CrashPart& each : parts) room += each.held + each.held / 4;
  const Kept::Rank last = crash.in_order ? Kept::Rank::in_order : Kept::Rank::newest_crash;
  RETURN_IF_ERROR(make_room(room + kAround, {crash.runtime.user}, last, removed));
  return write(crash, parts, room);
}

Result<std::unique_ptr<OutputFile>> Artifacts::create(Artifact& artifact, const RoomFor& whose,
                                                      std::size_t& removed) const {
  cut_texts(artifact.runtime);
  artifact.id = new_id(artifact);
  artifact.state = Artifact::State::under_way;
  RETURN_IF_ERROR(make_room(kAround, whose, removed));
  ASSIGN_OR_RETURN(auto file, create_file(path_of(artifact.id, kContent)));
  RETURN_IF_ERROR(describe(artifact));
  note_taking(artifact.id, true);
  return file;
}

bool Artifacts::is_taking(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return taking_.contains(id);
}

void Artifacts::note_taking(const std::string& id, bool taking) const {
  const std::lock_guard lock(mutex_);
  if (taking) {
    taking_.insert(id);
  } else {
    taking_.erase(id);
  }
}

bool ArtifactStore::takes(std::string_view kind) const {
  return kinds.empty() || std::ranges::find(kinds, kind) != kinds.end();
}

bool ArtifactStore::waits_for(const Artifact& artifact) const {
  if (artifact.state == Artifact::State::under_way || !takes(artifact.kind)) return false;
  // Of what has gone straight to a store there is only a description here, if the store has it.
  const bool is_there =
      artifact.only_in.empty() || (artifact.only_in == name && artifact.state == Artifact::State::whole);
  return is_there && std::ranges::find(artifact.sent_to, name) == artifact.sent_to.end();
}

bool Artifacts::is_unsent(const Artifact& artifact) const {
  return std::ranges::any_of(stores_, [&](const ArtifactStore& each) { return each.waits_for(artifact); });
}

std::vector<Artifact> Artifacts::waiting_for(const ArtifactStore& store) const {
  std::vector<Artifact> waiting = all();
  std::erase_if(waiting, [&store](const Artifact& each) { return !store.waits_for(each); });
  return waiting;
}

Result<void> Artifacts::note_sent(const std::string& id, const std::string& store) const {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(auto artifact, find_described(id));
  if (std::ranges::find(artifact.sent_to, store) != artifact.sent_to.end()) return {};
  artifact.sent_to.push_back(store);
  return describe(artifact);
}

Result<UniqueFd> Artifacts::lock_store(const std::string& store) const {
  const std::string path = fmt::format("{}/.store-{}", directory_, store);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!file) return fail_errno("open", path, errno);
  // Where the file system has no locks, several may send the same thing, under the same name.
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return fail("lock", path, "another agent sends what is there");
  return file;
}

std::vector<Artifacts::Kept> Artifacts::contents() const {
  std::map<std::string, Kept> by_id;
  const std::time_t left_behind = std::time(nullptr) - std::chrono::seconds(kLeftBehind).count();
  for (const std::string& name : entries_of(directory_)) {
    const auto* const ending =
        std::ranges::find_if(kEndings, [&name](std::string_view each) { return name.ends_with(each); });
    if (ending == kEndings.end()) continue;
    struct stat found {};
    if (::lstat((directory_ + "/" + name).c_str(), &found) != 0) continue;
    const std::string id = name.substr(0, name.size() - ending->size());
    if (!is_of_agent(id)) continue;
    const auto [kept, is_new] = by_id.try_emplace(id, Kept{id, 0, Kept::Rank::leftover});
    kept->second.bytes += static_cast<std::uint64_t>(found.st_size);
    if (found.st_mtime > left_behind) kept->second.rank = Kept::Rank::fresh;
    if (*ending == kAbout) kept->second.has_description = true;
  }
  std::vector<Kept> all;
  std::map<uid_t, Kept*> newest_crashes;
  std::vector<Kept*> unsent;
  all.reserve(by_id.size());
  for (auto& [id, kept] : by_id) {
    all.push_back(std::move(kept));
    if (is_taking(id)) all.back().rank = Kept::Rank::fresh;
    const auto artifact = find(id);
    // Another version of the agent may be able to read it, or this one at another time.
    const bool unreadable = !artifact && all.back().has_description;
    if (unreadable && all.back().rank == Kept::Rank::leftover) all.back().rank = Kept::Rank::ordinary;
    if (artifact) all.back().user = artifact->runtime.user;
    if (!artifact || artifact->state == Artifact::State::under_way) continue;
    const bool is_crash = artifact->kind == kCrash;
    all.back().rank = is_crash && artifact->in_order ? Kept::Rank::in_order : Kept::Rank::ordinary;
    if (is_crash && !artifact->in_order) newest_crashes[all.back().user] = &all.back();
    if (is_unsent(*artifact)) unsent.push_back(&all.back());
  }
  for (const auto& [user, crash] : newest_crashes) crash->rank = Kept::Rank::newest_crash;
  for (Kept* const each : unsent) each->rank = Kept::Rank::unsent;
  // Those of a rank stay in the order of their ids, which is that of time.
  std::ranges::stable_sort(all, {}, &Kept::rank);
  return all;
}

Result<void> Artifacts::make_room(std::uint64_t bytes, const RoomFor& whose, std::size_t& removed) const {
  return make_room(bytes, whose, Kept::Rank::ordinary, removed);
}

Result<void> Artifacts::check_room(std::uint64_t bytes, const RoomFor& whose) const {
  if (bytes > limits_.bytes / 2)
    return fail("keep it in", directory_, "it is larger than half of what the directory may hold",
                "raise artifacts.size");
  RETURN_IF_ERROR(going(contents(), bytes, whose, Kept::Rank::ordinary));
  return {};
}

Result<void> Artifacts::make_room(std::uint64_t bytes, const RoomFor& whose, Kept::Rank last,
                                  std::size_t& removed) const {
  ASSIGN_OR_RETURN(const auto ids, going(contents(), bytes, whose, last));
  for (const std::string& each : ids) {
    if (remove_files(each)) ++removed;
  }
  return {};
}

namespace {

/// What one user has of the directory, as parts of its limits.
struct Part {
  double bytes = 0;
  double count = 0;
  [[nodiscard]] double larger() const { return std::max(bytes, count); }
};

}  // namespace

Result<std::vector<std::string>> Artifacts::going(std::vector<Kept> all, std::uint64_t bytes,
                                                  const RoomFor& whose, Kept::Rank last) const {
  struct statvfs disk {};
  if (::statvfs(directory_.c_str(), &disk) != 0) return fail_errno("write to", directory_, errno);
  std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  std::uint64_t total = bytes;
  std::map<uid_t, Part> parts;
  const auto count = [&](uid_t user, std::uint64_t size, int sign) {
    parts[user].bytes += sign * static_cast<double>(size) / static_cast<double>(limits_.bytes);
    parts[user].count += sign * 1.0 / kMaxArtifacts;
  };
  count(whose.user, bytes, 1);
  for (const Kept& each : all) {
    total += each.bytes;
    count(each.user, each.bytes, 1);
  }
  const auto may_go = [&](const Kept& each) {
    const bool is_anothers_crash = each.rank == Kept::Rank::newest_crash && each.user != whose.user;
    return each.rank <= last && !is_anothers_crash && (!whose.may_go || whose.may_go->contains(each.id));
  };
  // The user who has most loses artifacts first, in their order. If two users have equally much, the one for
  // whom room is made loses first.
  const auto goes_before = [&](const Kept& one, const Kept& other) {
    if ((one.rank == Kept::Rank::leftover) != (other.rank == Kept::Rank::leftover))
      return one.rank == Kept::Rank::leftover;
    const double of_one = parts[one.user].larger();
    const double of_other = parts[other.user].larger();
    if (of_one != of_other) return of_one > of_other;
    return one.user == whose.user && other.user != whose.user;
  };
  std::vector<std::string> gone;
  const auto has_room = [&] { return free >= bytes && total <= limits_.bytes && all.size() < kMaxArtifacts; };
  while (!has_room()) {
    auto next = all.end();
    for (auto each = all.begin(); each != all.end(); ++each) {
      if (may_go(*each) && (next == all.end() || goes_before(*each, *next))) next = each;
    }
    if (next == all.end()) break;
    free += next->bytes;
    total -= next->bytes;
    count(next->user, next->bytes, -1);
    gone.push_back(next->id);
    all.erase(next);
  }
  // A crash that is larger than all may be is kept alone.
  const bool alone = last == Kept::Rank::newest_crash && all.empty() && free >= bytes;
  if (!has_room() && !alone) {
    const auto unsent = std::ranges::count(all, Kept::Rank::unsent, &Kept::rank);
    std::string why = "there is no room";
    if (unsent > 0)
      why += fmt::format(": {} of {} are still to be sent to a store", unsent, gone.size() + all.size());
    if (whose.may_go != nullptr) why += "; what is there is not yours to remove";
    return fail("keep it in", directory_, std::move(why), "make room on the disk, or raise artifacts.size");
  }
  return gone;
}

/// Returns whether there was anything.
bool Artifacts::remove_files(const std::string& id) const {
  bool any = false;
  // A description without contents is worse than the reverse.
  for (const std::string_view ending : kEndings) {
    const bool removed = ::unlink(path_of(id, ending).c_str()) == 0;
    any = any || (removed && ending != kNextAbout);
  }
  return any;
}

std::size_t Artifacts::remove_old() const {
  if (limits_.age.count() == 0) return 0;
  const std::string oldest = utc_text(std::chrono::system_clock::now() - limits_.age);
  std::size_t removed = 0;
  for (const Kept& each : contents()) {
    const auto artifact = find(each.id);
    const bool is_old = artifact && artifact->time < oldest;
    if (is_old && each.rank < Kept::Rank::newest_crash && remove_files(each.id)) ++removed;
  }
  return removed;
}

Result<void> Artifacts::begin_use() {
  RETURN_IF_ERROR(check());
  in_use_ = UniqueFd(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Where the file system has no such locks, what is under way counts as cut some minutes later.
  const bool alone = in_use_ && ::flock(in_use_.get(), LOCK_EX | LOCK_NB) == 0;
  for (Artifact& each : alone ? all() : std::vector<Artifact>()) {
    if (each.state != Artifact::State::under_way) continue;
    each.state = Artifact::State::cut;
    each.why = kAgentEnded;
    std::ignore = describe(each);
  }
  // Another one that begins at the same time has it alone for a moment.
  for (int tries = 0; in_use_ && tries < kLockTries; ++tries) {
    if (::flock(in_use_.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) break;
    std::this_thread::sleep_for(kLockPause);
  }
  return {};
}

bool Artifacts::may_be_description(const char* entry) {
  return entry == nullptr || std::string_view(entry).ends_with(kAbout);
}

std::vector<Artifact> Artifacts::all() const {
  std::vector<std::string> names = entries_of(directory_);
  std::ranges::sort(names);
  std::vector<Artifact> all;
  for (const std::string& name : names) {
    const auto id = id_of_description(name);
    auto artifact = id ? find(*id) : Result<Artifact>(tl::unexpected(unknown(name)));
    if (artifact) all.push_back(std::move(*artifact));
  }
  return all;
}

std::optional<std::string> Artifacts::id_of_description(std::string_view name) {
  if (!name.ends_with(kAbout)) return std::nullopt;
  return std::string(name.substr(0, name.size() - kAbout.size()));
}

Result<Artifact> Artifacts::find_described(const std::string& id) const {
  if (!is_artifact_id(id)) return tl::unexpected(unknown(id));
  const auto text = read_regular_file("what is kept", path_of(id, kAbout), kMaxAbout);
  if (!text) return tl::unexpected(unknown(id));
  ASSIGN_OR_RETURN(auto artifact, artifact_from_json(*text));
  // Whatever the file says, this is its name.
  artifact.id = id;
  return artifact;
}

Result<Artifact> Artifacts::find(const std::string& id) const {
  ASSIGN_OR_RETURN(auto artifact, find_described(id));
  if (artifact.state == Artifact::State::under_way) note_progress(artifact);
  return artifact;
}

/// What the content's file says of an artifact that is under way.
void Artifacts::note_progress(Artifact& artifact) const {
  struct stat found {};
  if (::lstat(path_of(artifact.id, kContent).c_str(), &found) == 0)
    artifact.bytes = static_cast<std::uint64_t>(found.st_size);
  if (is_taking(artifact.id) ||
      found.st_mtime > std::time(nullptr) - std::chrono::seconds(kLeftBehind).count())
    return;
  artifact.state = Artifact::State::cut;
  artifact.why = kAgentEnded;
}

Result<Artifacts::Opened> Artifacts::open(const std::string& id) const {
  if (!is_artifact_id(id)) return tl::unexpected(unknown(id));
  Opened opened{open_file(path_of(id, kContent)), open_file(path_of(id, kEvents)),
                open_file(path_of(id, kSamples))};
  if (!opened.content && !opened.events) return tl::unexpected(unknown(id));
  for (const std::string_view names : kNames) {
    if (auto file = open_file(path_of(id, names))) opened.names.push_back(std::move(file));
  }
  return opened;
}

Result<void> Artifacts::remove(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(find_described(id));
  if (!remove_files(id)) return fail_errno("remove", id, errno);
  return {};
}

}  // namespace farport::router
