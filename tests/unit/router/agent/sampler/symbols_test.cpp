// Names of functions: of the kernel, and in files of a process.
#include <cstdlib>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "router/agent/sampler/native_symbols.hpp"
#include "tests/unit/router/symbols/own_symbols.hpp"

using namespace farport;
using namespace farport::router;
using namespace farport::router::test;

namespace {

constexpr std::uint64_t kHigh = 0xFFFF'FFFF'8100'0000;
constexpr const char* kKallsyms =
    "ffffffff81000000 T _stext\n"
    "ffffffff81001000 t do_sys_read\n"
    "ffffffff81001800 d some_data\n"
    "ffffffff81002000 W do_sys_write\n"
    "ffffffffc0000000 t helper\t[module]\n";

}  // namespace

TEST_CASE("a file's names are read in a process of its own, through the root of who has it", "[sampler]") {
  auto root = ProcessRoot::open(::getpid());
  REQUIRE(root);
  NativeSymbols symbols(std::move(*root), ::geteuid(), 64U << 20U);
  Told told;
  symbols.tell(own_space(), {place_of_function()}, told, [] {});
  REQUIRE(told.symbols.size() == 1);
  CHECK(told.symbols[0].name == "farport_test_function");
  CHECK(told.notes.empty());
}

TEST_CASE("a file that is a pipe, a device or a directory, or not there, is not waited for", "[sampler]") {
  std::string directory = "/tmp/farport-symbols-XXXXXX";
  REQUIRE(::mkdtemp(directory.data()) != nullptr);
  const std::string pipe = directory + "/pipe.so";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, directory, directory + "/missing.so"}) {
    AddressSpace space;
    space.add({0x1000, 0x2000, 0, path});
    auto root = ProcessRoot::open(::getpid());
    REQUIRE(root);
    Told told;
    NativeSymbols(std::move(*root), ::geteuid(), 64U << 20U).tell(space, {0x1234}, told, [] {});
    CHECK(told.symbols.empty());
    // Where it is, is told all the same.
    REQUIRE(told.mappings.size() == 1);
    REQUIRE(told.notes.size() == 1);
    CHECK_THAT(told.notes[0], Catch::Contains(path));
  }
  ::unlink(pipe.c_str());
  ::rmdir(directory.c_str());
}

TEST_CASE("the kernel's functions are named, and its place is not", "[sampler]") {
  std::istringstream kallsyms(kKallsyms);
  constexpr std::uint64_t kBase = 0x1000000;
  Told told;
  REQUIRE(tell_kernel_symbols(
      kallsyms, {kHigh + 0x1010 - kBase, kHigh + 0x1ff0 - kBase, 0xFFFFFFFFC0000040 - kBase}, kBase, told));
  REQUIRE(told.symbols.size() == 2);
  CHECK(told.symbols[0].name == "do_sys_read");
  CHECK(told.symbols[0].start == kHigh + 0x1000 - kBase);
  CHECK(told.symbols[0].end == kHigh + 0x2000 - kBase);
  CHECK(told.symbols[1].name == "helper");
  CHECK(told.symbols[1].module == "module");
  CHECK(told.symbols[1].end == 0xFFFFFFFFC0000041 - kBase);
}

TEST_CASE("a kernel that hides its addresses is told from one that has no names", "[sampler]") {
  std::istringstream hidden("0000000000000000 T _stext\n0000000000000000 t do_sys_read\n");
  Told told;
  CHECK_FALSE(tell_kernel_symbols(hidden, {kHigh}, 0, told));
  CHECK(told.symbols.empty());
}
