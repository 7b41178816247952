#include "router/agent/runtimes/createdump.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/unique_fd.hpp"
#include "confinement/confinement.hpp"
#include "router/agent/sampler/sampler_looks.hpp"
#include "tests/unit/auth/fixtures.hpp"
#include "tests/unit/child.hpp"

using namespace farport;
using namespace farport::router;
using farport::auth::test::TemporaryDirectory;
using farport::test::ChildProcess;
using State = Createdump::State;

namespace {

constexpr uid_t kNobody = 65534;

/// A process of nobody's that has a file libcoreclr.so of this directory in its memory.
std::unique_ptr<ChildProcess> runtime_in(const std::string& directory) {
  const std::string library = directory + "/libcoreclr.so";
  std::ofstream(library) << "a library";
  std::filesystem::permissions(directory, std::filesystem::perms(0755));
  std::array<int, 2> ready{};
  REQUIRE(::pipe2(ready.data(), O_CLOEXEC) == 0);
  auto child = std::make_unique<ChildProcess>([&] {
    const int file = ::open(library.c_str(), O_RDONLY | O_CLOEXEC);
    ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, file, 0);
    if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) ::_exit(1);
    if (::write(ready[1], "r", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  });
  const UniqueFd reading(ready[0]);
  const UniqueFd writing(ready[1]);
  char byte = 0;
  CHECK(::read(reading.get(), &byte, 1) == 1);
  return child;
}

}  // namespace

TEST_CASE("createdump is looked for beside the library, with the rights of the application", "[router]") {
  if (::geteuid() != 0) return;
  const TemporaryDirectory directory;
  const std::string program = directory.path() + "/createdump";
  const auto runtime = runtime_in(directory.path());
  CHECK(find_createdump(runtime->pid(), false).state == State::missing);
  CHECK(find_createdump(runtime->pid(), false).path == program);
  std::ofstream(program) << "a program";
  for (const unsigned mode : {0644U, 0744U, 0754U}) {
    std::filesystem::permissions(program, std::filesystem::perms(mode));
    const Createdump found = find_createdump(runtime->pid(), false);
    CHECK(found.state == State::not_executable);
    CHECK_THAT(found.why, Catch::Contains("user 65534 may not execute it"));
    const auto refused = refusal_of(found, "orders", ipc::DumpType::full);
    REQUIRE(refused);
    CHECK_THAT(refused->message(), Catch::Contains(program));
  }
  std::filesystem::permissions(program, std::filesystem::perms(0755));
  CHECK(find_createdump(runtime->pid(), false).state == State::there);
  CHECK_FALSE(refusal_of(find_createdump(runtime->pid(), false), "orders", ipc::DumpType::with_heap));
}

TEST_CASE("a sampler with nothing but its own rights sees it as well", "[router]") {
  if (::geteuid() != 0) return;
  const TemporaryDirectory directory;
  const auto runtime = runtime_in(directory.path());
  auto started = SamplerProcess::start([] { confinement::confine_sampler(); });
  REQUIRE(started);
  const auto seen = [&](const SamplerProcess* sampler) {
    return look_for_createdump(sampler, runtime->pid(), kNobody, false);
  };
  CHECK(seen(&*started).state == State::missing);
  const std::string program = directory.path() + "/createdump";
  std::ofstream(program) << "a program";
  std::filesystem::permissions(program, std::filesystem::perms(0644));
  CHECK(seen(&*started).state == State::not_executable);
  CHECK(seen(&*started).path == program);
  CHECK_THAT(seen(&*started).why, Catch::Contains("user 65534 may not execute it"));
  std::filesystem::permissions(program, std::filesystem::perms(0755));
  CHECK(seen(&*started).state == State::there);
  CHECK(seen(nullptr).state == State::unknown);
}

TEST_CASE("a program that contains its runtime writes full dumps only", "[router]") {
  const UniqueFd file(::memfd_create("doublemapper", MFD_CLOEXEC));
  REQUIRE(::ftruncate(file.get(), 4096) == 0);
  void* const code = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0);
  REQUIRE(code != MAP_FAILED);
  const Createdump found = find_createdump(::getpid(), false);
  // A program that compiles methods is CoreCLR's.
  CHECK(find_createdump(::getpid(), true).state == State::inside);
  ::munmap(code, 4096);
  CHECK(found.state == State::inside);
  CHECK(refusal_of(found, "orders", ipc::DumpType::with_heap));
  CHECK_FALSE(refusal_of(found, "orders", ipc::DumpType::full));
}

TEST_CASE("a program that was compiled ahead of time is never dumped", "[router]") {
  const Createdump native = find_createdump(::getpid(), true);
  CHECK(native.state == State::never);
  for (const auto type : {ipc::DumpType::normal, ipc::DumpType::with_heap, ipc::DumpType::full})
    CHECK(refusal_of(native, "orders", type));
}

TEST_CASE("what can't be seen of a process is no reason to refuse", "[router]") {
  CHECK(find_createdump(::getpid(), false).state == State::unknown);
  CHECK(find_createdump(0, false).state == State::unknown);
  CHECK_FALSE(refusal_of(find_createdump(0, false), "orders", ipc::DumpType::with_heap));
}
