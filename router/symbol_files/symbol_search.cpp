#include "router/symbol_files/symbol_search.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "transport/offload.hpp"

namespace farport::router {
namespace {

using transport::Task;

/// An agent may name more files than any process has.
constexpr std::size_t kMostFiles = 200;
/// That servers send for one profile.
constexpr std::uint64_t kMostFetched = 2ULL << 30;
/// For reading one.
constexpr std::uint64_t kOneFileMemory = 64U << 20U;
/// How much comes before that is told once more.
constexpr std::uint64_t kTellEvery = 1U << 20;

/// One file, read by a thread that may outlive who asks.
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

/// The same for a file that is open. `file` is shared with the thread.
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
    if (file.parts.empty() || all.size() == kMostFiles) continue;
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

/// False: the file has another build id, or is no file at all. Errors: it could not be read.
Task<Result<bool>> SymbolSearch::read(OpenFiles open, Work& work, SampleSink& to) {
  const auto reading = std::make_shared<FileReading>(FileReading{std::move(open), work.file});
  std::function<void()> run = [reading] { reading->run(); };
  const Result<void> ended = co_await transport::run_detached(loop_, std::move(run));
  if (!ended) co_return tl::unexpected(ended.error());
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
  for (Asked& asked : servers_) {
    if (asked.failed) continue;
    const auto found = co_await fetch(asked, work, to);
    if (found && *found) co_return;
    asked.failed = !found;
    if (!found) warnings_.push_back(found.error().message());
  }
}

Task<Result<bool>> SymbolSearch::fetch(Asked& asked, Work& work, SampleSink& to) {
  for (const std::string& path : server_paths(work.module)) {
    if (fetched_ > kMostFetched) {
      co_return fail("ask the symbol server", asked.server.name(),
                     "servers have sent enough for one profile");
    }
    auto draft = cache_->begin();
    if (!draft) co_return tl::unexpected(draft.error());
    std::uint64_t told = 0;
    std::uint64_t size = 0;
    const SymbolServer::OnBytes on_bytes = [&](std::uint64_t bytes) {
      size = bytes;
      if (size - told < kTellEvery) return;
      told = size;
      on_progress_(
          fmt::format("names of {} ({} of {}), {} MiB", work.module.name, work.number, work.of, size >> 20));
    };
    const auto found = co_await asked.server.fetch(path, draft->fd(), on_bytes);
    if (!found) co_return tl::unexpected(found.error());
    if (!*found) continue;
    fetched_ += size;
    const auto file = std::make_shared<const UniqueFd>(::fcntl(draft->fd(), F_DUPFD_CLOEXEC, 0));
    const std::size_t unnamed = work.file.addresses.size();
    const auto usable = co_await read(opener_of(file), work, to);
    if (!usable || !*usable) {
      co_return fail("use what the symbol server sends", asked.server.name(),
                     "it is not the file of the build id " + work.module.build_id);
    }
    // The file that runs, for example, which is stripped there, too.
    if (work.file.addresses.size() == unnamed) continue;
    const Result<void> kept = draft->keep(work.module);
    if (!kept) co_return tl::unexpected(kept.error());
    co_return true;
  }
  co_return false;
}

}  // namespace farport::router
