// A directory that goes with its process, and what of others is left alone.
#include "router/mirror/owned_directory.hpp"

#include <filesystem>
#include <fstream>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using farport::router::OwnedDirectory;
namespace fs = std::filesystem;

namespace {

struct Fixture {
  Fixture() {
    char made[] = "/tmp/farport-test-XXXXXX";
    base = ::mkdtemp(made);
  }
  ~Fixture() { fs::remove_all(base); }

  /// Makes one in another process, which is killed while it has it.
  std::string abandon() const {
    int pipes[2] = {-1, -1};
    REQUIRE(::pipe(pipes) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto made = OwnedDirectory::make(base, "run-");
      const std::string path = made ? (*made)->path() : "";
      fs::create_directory(path + "/inside");
      std::ofstream(path + "/inside/file") << "left";
      fs::create_symlink("/etc", path + "/link");
      if (::write(pipes[1], path.data(), path.size()) < 0) ::_exit(1);
      ::raise(SIGKILL);
    }
    ::close(pipes[1]);
    char text[256];
    const ssize_t size = ::read(pipes[0], text, sizeof text);
    ::close(pipes[0]);
    ::waitpid(child, nullptr, 0);
    REQUIRE(size > 0);
    return {text, static_cast<std::size_t>(size)};
  }

  std::string base;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "an owned directory goes with all that is in it, and its links lead nowhere") {
  std::string path;
  {
    const auto made = OwnedDirectory::make(base, "run-").value();
    path = made->path();
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    fs::create_directory(base + "/kept");
    std::ofstream(base + "/kept/file") << "kept";
    fs::create_symlink(base + "/kept", path + "/link");
    std::ofstream(path + "/file") << "gone";
  }
  CHECK_FALSE(fs::exists(path));
  CHECK(fs::exists(base + "/kept/file"));
}

TEST_CASE_METHOD(Fixture, "the next one removes what a killed process left, at once") {
  const std::string left = abandon();
  REQUIRE(fs::exists(left));
  const auto next = OwnedDirectory::make(base, "run-").value();
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(next->path()));
}

TEST_CASE_METHOD(Fixture, "one that is in use stays") {
  const auto first = OwnedDirectory::make(base, "run-").value();
  const auto second = OwnedDirectory::make(base, "run-").value();
  CHECK(fs::exists(first->path()));
  CHECK(first->path() != second->path());
}

TEST_CASE_METHOD(Fixture, "directories of that name which were made otherwise stay") {
  fs::create_directory(base + "/run-mine");
  std::ofstream(base + "/run-mine/notes.txt") << "years of work";
  fs::permissions(base + "/run-mine", fs::perms::owner_all);
  // With a mark, but not one's own alone.
  const std::string open_to_all = abandon();
  fs::permissions(open_to_all, fs::perms::all);
  // A link to what a killed process left.
  const std::string elsewhere = base + "/elsewhere";
  const std::string moved = abandon();
  fs::rename(moved, elsewhere);
  fs::create_directory_symlink(elsewhere, base + "/run-link");
  std::ofstream(base + "/run-file") << "a file";
  const auto next = OwnedDirectory::make(base, "run-").value();
  for (const char* kept : {"/run-mine/notes.txt", "/elsewhere/inside/file", "/run-link", "/run-file"}) {
    CHECK(fs::exists(base + kept));
  }
  CHECK(fs::exists(open_to_all + "/inside/file"));
}

TEST_CASE_METHOD(Fixture, "a place where none can be made is an error that names it") {
  const auto made = OwnedDirectory::make(base + "/missing", "run-");
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().message().find(base + "/missing/run-") != std::string::npos);
}
