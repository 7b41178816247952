// Names from files that lie elsewhere, or don't come.
#include "router/symbol_files/symbol_search.hpp"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "tests/unit/auth/fixtures.hpp"
#include "tests/unit/router/symbols/own_symbols.hpp"

using namespace farport;
using namespace farport::router;
using namespace farport::router::test;
using auth::test::TemporaryDirectory;

namespace {

/// This program as an agent knows it that could not name its function.
UnnamedFile own_file() {
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const AddressSpace space = own_space();
  Told told;
  REQUIRE(read_symbols(file.get(), {{*space.find(place_of_function())}, {place_of_function()}}, told));
  return {told.mappings, {place_of_function()}};
}

std::string build_id() {
  return own_file().parts[0].build_id;
}

std::string name_in(const std::string& directory) {
  return directory + "/" + module_name(own_file().parts[0].path);
}

std::vector<std::string> names_found(SymbolSources sources, std::vector<std::string>& warnings) {
  transport::Loop loop;
  SymbolSearch search(loop, std::move(sources), [](const std::string&) {});
  Told told;
  loop.run(search.run({own_file()}, told));
  warnings = search.warnings();
  std::vector<std::string> names;
  for (const SampledSymbol& symbol : told.symbols) names.push_back(symbol.name);
  return names;
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> warnings;
  return names_found({{directory}, {}, {}}, warnings);
}

const std::vector<std::string> kFound{"farport_test_function"};

}  // namespace

TEST_CASE("names come from a directory, whichever way it is laid out", "[symbols]") {
  const std::string id = build_id();
  for (const std::string& place :
       {std::string("/.build-id/") + id.substr(0, 2) + "/" + id.substr(2) + ".debug",
        "/_.debug/elf-buildid-sym-" + id + "/_.debug", std::string()}) {
    const TemporaryDirectory directory;
    const std::string path = place.empty() ? name_in(directory.path()) : directory.path() + place;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::filesystem::create_symlink(std::filesystem::read_symlink("/proc/self/exe"), path);
    CHECK(names_in(directory.path()) == kFound);
  }
}

TEST_CASE("a file of another build id is not used, and the next one is", "[symbols]") {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink("/bin/sh", name_in(directory.path()) + ".debug");
  CHECK(names_in(directory.path()).empty());
  std::filesystem::create_symlink(std::filesystem::read_symlink("/proc/self/exe"), name_in(directory.path()));
  CHECK(names_in(directory.path()) == kFound);
}

TEST_CASE("files that are a pipe, garbage, half of one or not there cost nothing", "[symbols]") {
  const TemporaryDirectory directory;
  const std::string name = name_in(directory.path());
  REQUIRE(::mkfifo((name + ".debug").c_str(), 0600) == 0);
  std::ofstream(name + ".dbg") << "\x7f"
                                  "ELF\x02\x01\x01 and then nothing";
  std::filesystem::copy_file("/proc/self/exe", name);
  std::filesystem::resize_file(name, std::filesystem::file_size(name) / 2);
  CHECK(names_in(directory.path()).empty());
  std::vector<std::string> warnings;
  CHECK(names_found({{directory.path() + "/missing"}, {}, {}}, warnings).empty());
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("missing: No such file"));
}

TEST_CASE("a server that can't be asked is one warning, which has no password", "[symbols]") {
  const TemporaryDirectory directory;
  std::vector<std::string> warnings;
  // Nobody listens at port 1.
  const SymbolSources sources{{}, {"http://me:secret@127.0.0.1:1/symbols/"}, directory.path() + "/cache"};
  CHECK(names_found(sources, warnings).empty());
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("http://127.0.0.1:1/symbols: curl ended with code 7"));
  CHECK_THAT(warnings[0], !Catch::Contains("secret"));
  CHECK(std::filesystem::is_empty(directory.path() + "/cache"));
}

TEST_CASE("without a curl that is said once", "[symbols]") {
  const TemporaryDirectory directory;
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", directory.path().c_str(), 1);
  std::vector<std::string> warnings;
  const auto names = names_found({{}, {"http://127.0.0.1:1"}, directory.path() + "/cache"}, warnings);
  ::setenv("PATH", path.c_str(), 1);
  CHECK(names.empty());
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("there is no curl; install curl, or give --symbols"));
}

TEST_CASE("what a server has sent is used from the cache by its build id alone", "[symbols]") {
  const TemporaryDirectory directory;
  const std::string cached = directory.path() + "/" + build_id() + ".debug";
  std::filesystem::copy_file("/proc/self/exe", cached);
  std::vector<std::string> warnings;
  const SymbolSources sources{{}, {"http://127.0.0.1:1"}, directory.path()};
  CHECK(names_found(sources, warnings) == kFound);
  CHECK(warnings.empty());
  std::filesystem::remove(cached);
  std::filesystem::copy_file("/bin/sh", cached);
  CHECK(names_found(sources, warnings).empty());
  CHECK(warnings.size() == 1);
}
