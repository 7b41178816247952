#include "router/symbol_files/symbol_search.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "router/reach/command.hpp"
#include "router/symbols/file_symbols.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

/// The longest file name in Linux.
constexpr std::size_t kLongestFileName = 255;
/// The number of digits of a build id, which has 8 to 64 bytes.
constexpr std::size_t kMinDigits = 16;
constexpr std::size_t kMaxDigits = 128;
/// The least number of digits of a build id in a key.
constexpr std::size_t kKeyDigits = 40;

bool is_build_id(std::string_view text) {
  return text.size() >= kMinDigits && text.size() <= kMaxDigits && text.size() % 2 == 0 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_file_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestFileName && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= ' '; });
}

/// A module's name and build id as keys have them: in lower case, and a short build id is padded with zeros.
struct KeyParts {
  explicit KeyParts(const Module& module) : name(module.name), build_id(module.build_id) {
    std::transform(name.begin(), name.end(), name.begin(), lower_case);
    if (build_id.size() < kKeyDigits) build_id.resize(kKeyDigits, '0');
  }

  std::string name;
  std::string build_id;
};

std::string symbols_key(const KeyParts& parts) {
  return fmt::format("_.debug/elf-buildid-sym-{}/_.debug", parts.build_id);
}

std::string file_key(const std::string& name, const KeyParts& parts) {
  return fmt::format("{0}/elf-buildid-{1}/{0}", name, parts.build_id);
}

}  // namespace

std::string module_name(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return std::string(file_of(path));
}

std::optional<Module> module_at(const SampledMapping& mapping) {
  Module module{module_name(mapping.path), mapping.build_id};
  if (!is_build_id(module.build_id) || !is_file_name(module.name)) return std::nullopt;
  return module;
}

std::vector<std::string> places_in(const std::string& directory, const Module& module) {
  const KeyParts parts(module);
  const std::string by_id =
      fmt::format(".build-id/{}/{}", module.build_id.substr(0, 2), module.build_id.substr(2));
  std::vector<std::string> places{
      by_id + ".debug", symbols_key(parts),         module.name + ".debug", module.name + ".dbg", by_id,
      module.name,      file_key(parts.name, parts)};
  for (std::string& place : places) place = directory + '/' + place;
  return places;
}

std::vector<std::string> server_paths(const Module& module) {
  const KeyParts parts(module);
  return {symbols_key(parts), file_key(percent_encoded(parts.name), parts),
          fmt::format("buildid/{}/debuginfo", module.build_id)};
}

namespace {

/// The prefix of the names of drafts.
constexpr std::string_view kDraft = ".draft-";
/// In seconds. No download takes this long, so an older draft was left by a process that was killed.
constexpr std::time_t kOldDraft = 24 * 60 * 60;

std::string name_in_cache(const Module& module) {
  return module.build_id + ".debug";
}

/// Makes a directory and its parents. Errors show when it is opened.
void make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    ::mkdir(path.substr(0, end).c_str(), 0700);
  }
  ::mkdir(path.c_str(), 0700);
}

}  // namespace

SymbolCache::Draft::~Draft() {
  if (!name_.empty()) ::unlinkat(directory_, name_.c_str(), 0);
}

Result<void> SymbolCache::Draft::keep(const Module& module) {
  const std::string name = name_in_cache(module);
  if (::renameat(directory_, name_.c_str(), directory_, name.c_str()) != 0) {
    return fail_errno("keep the symbols of", module.name, errno);
  }
  name_.clear();
  return {};
}

Result<SymbolCache> SymbolCache::open(const std::string& path) {
  make_directories(path);
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!directory || ::fstat(directory.get(), &status) != 0) {
    return fail_errno("keep symbols in", path, errno, "set XDG_CACHE_HOME to a directory of your own");
  }
  if (!is_ours_alone(status)) {
    return fail("keep symbols in", path, "it is not yours alone",
                "set XDG_CACHE_HOME to a directory of your own");
  }
  SymbolCache cache(path, std::move(directory));
  cache.remove_left();
  return cache;
}

void SymbolCache::remove_left() const {
  for (const std::string& name : entries_of(directory_.get(), kDraft)) {
    struct stat status {};
    if (::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (std::time(nullptr) - status.st_mtime > kOldDraft) ::unlinkat(directory_.get(), name.c_str(), 0);
  }
}

UniqueFd SymbolCache::find(const Module& module) const {
  return UniqueFd(::openat(directory_.get(), name_in_cache(module).c_str(), kOpenAnything | O_NOFOLLOW));
}

Result<SymbolCache::Draft> SymbolCache::begin() const {
  std::string name = std::string(kDraft) + random_token();
  UniqueFd file(
      ::openat(directory_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail_errno("keep symbols in", path_, errno);
  return Draft(directory_.get(), std::move(name), std::move(file));
}

namespace {

using transport::IoStatus;
using transport::Task;

/// The largest file. A browser engine's symbols are larger; those of a runtime have a fifth of this.
constexpr std::uint64_t kMaxSymbolBytes = 512ULL << 20;
constexpr transport::Milliseconds kLimit{300'000};
constexpr std::size_t kPart = 64 * 1024;
/// curl writes the status, such as "200", after the bytes of the file.
constexpr off_t kStatusSize = 3;
/// The exit code of curl if the server's status is an error (curl(1), "EXIT CODES").
constexpr int kHttpError = 22;
/// The exit code of a shell if there is no such program (POSIX, Shell Command Language 2.8.2).
constexpr int kNotFound = 127;

/// The configuration for curl's standard input, since the list of processes must not show the URL. By then
/// curl ignores the user's own configuration. A redirection may not leave TLS. A server that sends less than
/// a kilobyte a second for ten seconds is given up.
std::string curl_configuration(const std::string& url) {
  const bool is_secured = url.starts_with("https:");
  return fmt::format(
      "url = \"{}\"\ngloboff\nsilent\nshow-error\nfail\nlocation\nmax-redirs = 3\nproto = \"=http,https\"\n"
      "proto-redir = \"={}\"\nmax-filesize = {}\nconnect-timeout = 10\nspeed-limit = 1024\nspeed-time = 10\n"
      "write-out = \"%{{http_code}}\"\n",
      url, is_secured ? "https" : "http,https", kMaxSymbolBytes);
}

std::string without_password(const std::string& url) {
  const std::size_t host = url.find("://") + 3;
  const std::size_t path = url.find('/', host);
  const std::size_t at = url.rfind('@', path);
  return at == std::string::npos || at < host ? url : url.substr(0, host) + url.substr(at + 1);
}

/// Removes the status from the end of what curl has written, and returns it.
std::string take_status(int file, std::uint64_t size) {
  std::string status(kStatusSize, '\0');
  const off_t end = static_cast<off_t>(size) - kStatusSize;
  if (end < 0 || ::pread(file, status.data(), status.size(), end) != kStatusSize) return {};
  return ::ftruncate(file, end) == 0 ? status : std::string();
}

/// One download.
class Fetch {
 public:
  Fetch(Command& curl, std::string name, int to, SymbolServer::OnBytes on_bytes)
      : curl_(curl), name_(std::move(name)), to_(to), on_bytes_(std::move(on_bytes)) {}

  Task<Result<bool>> run(std::string configuration) {
    // If curl does not read this, its own error says why.
    std::ignore = co_await curl_.stream().write_last(std::as_bytes(std::span<const char>(configuration)));
    CO_RETURN_IF_ERROR(co_await write_what_comes());
    const std::optional<int> code = co_await curl_.exit_code();
    const std::string status = take_status(to_, size_);
    if (code == 0 && status == "200") co_return true;
    if (code == kHttpError && (status == "404" || status == "410")) co_return false;
    if (code == kNotFound) {
      co_return fail("ask the symbol server", name_, "there is no curl", "install curl, or give --symbols");
    }
    const Error ended = co_await curl_.ended();
    co_return fail("ask the symbol server", name_,
                   code == 0 ? "it answers with status " + status : ended.why);
  }

 private:
  Task<Result<void>> write_what_comes() {
    std::vector<std::byte> part(kPart);
    for (;;) {
      const transport::Io got = co_await curl_.stream().read(part);
      if (got.status != IoStatus::ok) co_return Result<void>();
      size_ += got.bytes;
      if (size_ > kMaxSymbolBytes) {
        co_return fail("ask the symbol server", name_,
                       fmt::format("a file has more than {} MiB", kMaxSymbolBytes >> 20));
      }
      const int failed = write_whole(to_, std::span(part).first(got.bytes));
      if (failed != 0) co_return fail_errno("keep what comes from", name_, failed);
      on_bytes_(size_);
    }
  }

  Command& curl_;
  std::string name_;
  int to_;
  SymbolServer::OnBytes on_bytes_;
  std::uint64_t size_ = 0;
};

std::vector<std::string> curl_arguments() {
  return {"curl", "--disable", "--config", "-"};
}

}  // namespace

SymbolServer::SymbolServer(transport::Loop& loop, std::string url) : loop_(loop), url_(std::move(url)) {
  while (url_.ends_with('/')) url_.pop_back();
  name_ = without_password(url_);
}

Task<Result<bool>> SymbolServer::fetch(std::string path, int to, OnBytes on_bytes) {
  CO_ASSIGN_OR_RETURN(auto started, Command::start(loop_, make_silent_log(), curl_arguments()));
  const std::shared_ptr<Command> curl = std::move(started);
  Fetch fetch(*curl, name_, to, std::move(on_bytes));
  auto fetched = co_await with_deadline(loop_, fetch.run(curl_configuration(url_ + '/' + path)), kLimit);
  const bool whole = fetched && *fetched && **fetched;
  if (!whole && (::ftruncate(to, 0) != 0 || ::lseek(to, 0, SEEK_SET) != 0)) {
    co_return fail_errno("keep what comes from", name_, errno);
  }
  if (!fetched) co_return fail("ask the symbol server", name_, "it takes too long");
  co_return std::move(*fetched);
}

namespace {

/// An agent may name more files than any process has.
constexpr std::size_t kMaxSymbolFiles = 200;
/// The most bytes that servers may send for one profile.
constexpr std::uint64_t kMaxFetched = 2ULL << 30;
/// The memory for reading one file.
constexpr std::uint64_t kOneFileMemory = 64U << 20U;
/// How many bytes must come before progress is reported again.
constexpr std::uint64_t kTellEvery = 1U << 20;

/// The reading of one file, by a thread that may outlive the task that waits for it.
struct FileReading {
  OpenFiles open;
  UnnamedFile file;
  Result<FileSymbols> answer{};

  void run() {
    const ReadFile names = [this](int fd, SampleSink& told) { return read_debug_symbols(fd, file, told); };
    answer = read_file_symbols(open, names, kOneFileLimit, kOneFileMemory);
  }
};

OpenFiles opener_of(std::string path) {
  return [path = std::move(path)](std::string& why) {
    std::vector<UniqueFd> files;
    UniqueFd file = regular_only(UniqueFd(::open(path.c_str(), kOpenAnything)), why);
    if (file) files.push_back(std::move(file));
    return files;
  };
}

/// The same for an open file, which is shared with the thread.
OpenFiles opener_of(std::shared_ptr<const UniqueFd> file) {
  return [file = std::move(file)](std::string& why) {
    std::vector<UniqueFd> files;
    UniqueFd copy = regular_only(UniqueFd(::fcntl(file->get(), F_DUPFD_CLOEXEC, 0)), why);
    if (copy) files.push_back(std::move(copy));
    return files;
  };
}

}  // namespace

SymbolSearch::SymbolSearch(transport::Loop& loop, SymbolSources sources, OnProgress on_progress)
    : loop_(loop), directories_(std::move(sources.directories)), on_progress_(std::move(on_progress)) {
  for (const std::string& directory : directories_) {
    if (::access(directory.c_str(), X_OK) == 0) continue;
    warnings_.push_back(fmt::format("no symbols are looked for in {}: {}", directory, std::strerror(errno)));
  }
  if (sources.servers.empty()) return;
  auto cache = SymbolCache::open(sources.cache);
  if (!cache) {
    warnings_.push_back("no symbol server is asked: " + cache.error().message());
    return;
  }
  cache_.emplace(std::move(*cache));
  for (std::string& url : sources.servers) servers_.push_back({SymbolServer(loop, std::move(url))});
}

Task<void> SymbolSearch::run(std::vector<UnnamedFile> files, SampleSink& to) {
  std::vector<Work> all;
  for (UnnamedFile& file : files) {
    if (file.parts.empty() || all.size() == kMaxSymbolFiles) continue;
    auto module = module_at(file.parts.front());
    if (module) all.push_back({std::move(*module), std::move(file), all.size() + 1, 0});
  }
  for (Work& work : all) {
    work.of = all.size();
    on_progress_(fmt::format("names of {} ({} of {})", work.module.name, work.number, work.of));
    co_await search_directories(work, to);
    if (!work.file.addresses.empty()) co_await search_servers(work, to);
  }
}

/// Returns false if the file has another build id, or is no ELF file. Errors: it could not be read.
Task<Result<bool>> SymbolSearch::read(OpenFiles open, Work& work, SampleSink& to) {
  const auto reading = std::make_shared<FileReading>(FileReading{std::move(open), work.file});
  std::function<void()> run = [reading] { reading->run(); };
  CO_RETURN_IF_ERROR(co_await transport::run_detached(loop_, std::move(run)));
  if (!reading->answer) co_return tl::unexpected(reading->answer.error());
  FileSymbols& told = *reading->answer;
  std::erase_if(told.symbols, [&](const auto& each) { return !is_inside(work.file.parts, each); });
  for (const SampledSymbol& symbol : told.symbols) to.on_symbol(symbol);
  work.file.addresses = without_names(work.file.addresses, std::move(told.symbols));
  co_return told.usable;
}

Task<void> SymbolSearch::search_directories(Work& work, SampleSink& to) {
  for (const std::string& directory : directories_) {
    for (const std::string& place : places_in(directory, work.module)) {
      if (work.file.addresses.empty()) co_return;
      if (::access(place.c_str(), R_OK) != 0) continue;
      const auto read_whole = co_await read(opener_of(place), work, to);
      if (!read_whole) {
        warnings_.push_back(fmt::format("{} gives no names: {}", place, read_whole.error().why));
      }
    }
  }
}

Task<void> SymbolSearch::search_servers(Work& work, SampleSink& to) {
  if (!cache_) co_return;
  const auto kept = std::make_shared<const UniqueFd>(cache_->find(work.module));
  if (*kept) {
    const auto usable = co_await read(opener_of(kept), work, to);
    if (usable && *usable) co_return;
  }
  for (ServerState& asked : servers_) {
    if (asked.failed) continue;
    const auto found = co_await fetch(asked, work, to);
    if (found && *found) co_return;
    asked.failed = !found;
    if (!found) warnings_.push_back(found.error().message());
  }
}

Task<Result<bool>> SymbolSearch::fetch(ServerState& asked, Work& work, SampleSink& to) {
  for (const std::string& path : server_paths(work.module)) {
    if (fetched_ > kMaxFetched) {
      co_return fail("ask the symbol server", asked.server.name(),
                     "servers have sent enough for one profile");
    }
    CO_ASSIGN_OR_RETURN(auto draft, cache_->begin());
    std::uint64_t told = 0;
    std::uint64_t size = 0;
    const SymbolServer::OnBytes on_bytes = [&](std::uint64_t bytes) {
      size = bytes;
      if (size - told < kTellEvery) return;
      told = size;
      on_progress_(
          fmt::format("names of {} ({} of {}), {} MiB", work.module.name, work.number, work.of, size >> 20));
    };
    CO_ASSIGN_OR_RETURN(const auto found, co_await asked.server.fetch(path, draft.fd(), on_bytes));
    if (!found) continue;
    fetched_ += size;
    const auto file = std::make_shared<const UniqueFd>(::fcntl(draft.fd(), F_DUPFD_CLOEXEC, 0));
    const std::size_t unnamed = work.file.addresses.size();
    const auto usable = co_await read(opener_of(file), work, to);
    if (!usable || !*usable) {
      co_return fail("use what the symbol server sends", asked.server.name(),
                     "it is not the file of the build id " + work.module.build_id);
    }
    // The file may add no names, like the stripped program itself.
    if (work.file.addresses.size() == unnamed) continue;
    CO_RETURN_IF_ERROR(draft.keep(work.module));
    co_return true;
  }
  co_return false;
}

}  // namespace farport::router
