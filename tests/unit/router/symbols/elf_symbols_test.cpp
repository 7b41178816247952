// Reading ELF files, which may be anybody's.
#include <csignal>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/unique_fd.hpp"
#include "router/symbols/file_symbols.hpp"
#include "tests/unit/router/symbols/own_symbols.hpp"

using namespace farport;
using namespace farport::router;
using namespace farport::router::test;
using namespace std::chrono_literals;

extern "C" int farport_test_function(int value) {
  return value + 1;
}

namespace farport_test {

// What the compiler calls it is for itself: _ZN12farport_test...
[[gnu::noinline, gnu::used]] int in_a_namespace(const std::vector<int>& values) {
  return static_cast<int>(values.size());
}

}  // namespace farport_test

namespace {

constexpr std::uint64_t kMemory = std::uint64_t{64} << 20;

UniqueFd file_with(std::string_view content) {
  UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  REQUIRE(::write(file.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  return file;
}

std::string own_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

SymbolQuestion own_question() {
  const AddressSpace space = own_space();
  return {{*space.find(place_of_function())}, {place_of_function()}};
}

}  // namespace

TEST_CASE("a function of a file is named, and the file by its build id", "[symbols]") {
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  Told told;
  REQUIRE(read_symbols(file.get(), own_question(), told));
  REQUIRE(told.symbols.size() == 1);
  CHECK(told.symbols[0].name == "farport_test_function");
  CHECK(told.symbols[0].start == place_of_function());
  REQUIRE(told.mappings.size() == 1);
  CHECK(told.mappings[0].build_id.size() == 40);
}

TEST_CASE("a function of C++ is named as its source does", "[symbols]") {
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const AddressSpace space = own_space();
  const auto place = reinterpret_cast<std::uint64_t>(&farport_test::in_a_namespace);
  Told told;
  REQUIRE(read_symbols(file.get(), {{*space.find(place)}, {place}}, told));
  REQUIRE(told.symbols.size() == 1);
  CHECK_THAT(told.symbols[0].name, Catch::StartsWith("farport_test::in_a_namespace(std::vector<int"));
}

TEST_CASE("debug information counts where it is of the same file", "[symbols]") {
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  Told told;
  REQUIRE(read_symbols(file.get(), own_question(), told));
  Told debug;
  UnnamedFile of{told.mappings, {place_of_function()}};
  REQUIRE(read_debug_symbols(file.get(), of, debug));
  CHECK(debug.symbols.size() == 1);
  CHECK(debug.mappings.empty());
  for (const char* const other : {"00", ""}) {
    of.parts[0].build_id = other;
    CHECK_FALSE(read_debug_symbols(file.get(), of, debug));
  }
  CHECK(debug.symbols.size() == 1);
}

TEST_CASE("what is no ELF file, or half of one, is no harm", "[symbols]") {
  Told told;
  CHECK_FALSE(read_symbols(file_with("").get(), own_question(), told));
  CHECK_FALSE(read_symbols(file_with("#!/bin/sh\n").get(), own_question(), told));
  const std::string program = own_program();
  for (const std::size_t size : {std::size_t{40}, std::size_t{64}, std::size_t{4096}, program.size() / 2}) {
    Told half;
    std::ignore = read_symbols(file_with(program.substr(0, size)).get(), own_question(), half);
    CHECK(half.symbols.size() <= 1);
  }
}

TEST_CASE("work that crashes, or never ends, or says too much, costs its result alone", "[symbols]") {
  CHECK(run_isolated([] { return std::string("fine"); }, 10s, kMemory) == std::string("fine"));
  CHECK(run_isolated([] { return std::string(1U << 20U, 'x'); }, 10s, kMemory).value().size() == 1U << 20U);
  const auto crashed = run_isolated(
      []() -> std::string {
        ::raise(SIGKILL);
        return "";
      },
      10s, kMemory);
  REQUIRE_FALSE(crashed);
  CHECK_THAT(crashed.error().why, Catch::Contains("crashed"));
  const auto slow = run_isolated(
      []() -> std::string {
        for (;;) ::pause();
      },
      50ms, kMemory);
  REQUIRE_FALSE(slow);
  CHECK_THAT(slow.error().why, Catch::Contains("too long"));
  CHECK_FALSE(run_isolated([] { return std::string(64U << 20U, 'x'); }, 10s, kMemory));
}
