#include "auth/file_stamp.hpp"

#include <filesystem>

#include <sys/stat.h>

namespace farport::auth {
namespace {

namespace fs = std::filesystem;

/// As many links as Linux follows (path_resolution(7)).
constexpr int kMaxLinks = 40;

std::int64_t nanoseconds(const timespec& time) {
  constexpr std::int64_t kPerSecond = 1'000'000'000;
  return std::int64_t{time.tv_sec} * kPerSecond + time.tv_nsec;
}

FileStamp stamp_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

/// How far a path is free of symbolic links, and what is left of it.
struct Walk {
  fs::path done{"/"};
  fs::path rest;
};

/// Goes on to the next symbolic link, and enters it. False: there is none any more.
bool enter_next_link(Walk& walk) {
  std::error_code error;
  for (auto part = walk.rest.begin(); part != walk.rest.end(); ++part) {
    if (*part == ".." || *part == "." || *part == "/" || part->empty()) {
      if (*part == "..") walk.done = walk.done.parent_path();
      continue;
    }
    const fs::path next = walk.done / *part;
    if (!fs::is_symlink(fs::symlink_status(next, error))) {
      walk.done = next;
      continue;
    }
    fs::path target = fs::read_symlink(next, error);
    for (auto left = std::next(part); left != walk.rest.end(); ++left) target /= *left;
    walk.rest = std::move(target);
    return true;
  }
  return false;
}

}  // namespace

FileStamps stamps_of(const std::vector<std::string>& paths) {
  FileStamps stamps;
  stamps.reserve(paths.size());
  for (const std::string& path : paths) stamps.push_back(stamp_of(path));
  return stamps;
}

std::set<std::string> directories_leading_to(const std::string& path) {
  std::set<std::string> directories;
  std::error_code error;
  Walk walk{"/", fs::absolute(path, error)};
  for (int links = 0; links < kMaxLinks && enter_next_link(walk); ++links) {
    directories.insert(walk.done.string());
    if (walk.rest.is_absolute()) walk.done = "/";
  }
  directories.insert(walk.done.parent_path().string());
  return directories;
}

}  // namespace farport::auth
