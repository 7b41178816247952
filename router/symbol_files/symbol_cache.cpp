#include "router/symbol_files/symbol_cache.hpp"

#include <cerrno>
#include <ctime>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/directory.hpp"
#include "base/text.hpp"
#include "router/symbols/file_symbols.hpp"

namespace farport::router {
namespace {

/// What the names of drafts begin with.
constexpr std::string_view kDraft = ".draft-";
/// Nothing is fetched for so long, in seconds: an older draft is of one that was killed.
constexpr std::time_t kOldDraft = 24 * 60 * 60;

std::string name_in_cache(const Module& module) {
  return module.build_id + ".debug";
}

/// Makes a directory and those above it. What can't be made shows when it is opened.
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
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail("keep symbols in", path, "it is not yours alone",
                "set XDG_CACHE_HOME to a directory of your own");
  }
  SymbolCache cache(path, std::move(directory));
  cache.remove_left();
  return cache;
}

void SymbolCache::remove_left() const {
  const OpenDirectory all(::fdopendir(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (all == nullptr) return;
  while (const dirent* const each = ::readdir(all.get())) {
    struct stat status {};
    const bool is_draft = std::string_view(each->d_name).starts_with(kDraft);
    if (!is_draft || ::fstatat(directory_.get(), each->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (std::time(nullptr) - status.st_mtime > kOldDraft) ::unlinkat(directory_.get(), each->d_name, 0);
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

}  // namespace farport::router
