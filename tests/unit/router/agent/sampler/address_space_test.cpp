// Which files are where in a process's memory.
#include <sstream>

#include <catch2/catch.hpp>

#include "router/agent/sampler/stack_walk.hpp"

using namespace farport::router;

namespace {

constexpr const char* kMaps =
    "55d0c0000000-55d0c0010000 r--p 00000000 fe:01 1234                       /app/orders\n"
    "55d0c0010000-55d0c0020000 r-xp 00010000 fe:01 1234                       /app/orders\n"
    "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
    "7f0000001000-7f0000002000 r-xs 00003000 00:01 77                         /memfd:doublemapper (deleted)\n"
    "7f0000002000-7f0000003000 r-xp 00000000 fe:01 9                          /tmp/with blank\\012and line\n"
    "7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0                          [vdso]\n"
    "no line\n"
    "7f0000009000-7f0000008000 r-xp 00000000 fe:01 9                          /backwards\n"
    "7f000000a000-";

std::string text_of(const AddressSpace& space, std::uint64_t address) {
  const MappedFile* const file = space.find(address);
  return file == nullptr ? "none" : file->path + "+" + std::to_string(address - file->start + file->offset);
}

}  // namespace

TEST_CASE("of a process's memory, what may be executed counts", "[sampler]") {
  std::vector<MappedFile> files;
  std::istringstream maps(kMaps);
  read_maps(maps, [&](MappedFile file) { files.push_back(std::move(file)); });
  REQUIRE(files.size() == 5);
  CHECK(files[0].path == "/app/orders");
  CHECK(files[0].start == 0x55d0c0010000);
  CHECK(files[0].end == 0x55d0c0020000);
  CHECK(files[0].offset == 0x10000);
  CHECK(files[1].path.empty());
  CHECK(files[2].path == "/memfd:doublemapper (deleted)");
  CHECK(files[3].path == "/tmp/with blank\\012and line");
  CHECK(files[4].path == "[vdso]");
}

TEST_CASE("what is mapped over something else takes its place", "[sampler]") {
  AddressSpace space;
  space.add({100, 200, 1000, "old"});
  space.add({140, 160, 0, "new"});
  CHECK(text_of(space, 99) == "none");
  CHECK(text_of(space, 139) == "old+1039");
  CHECK(text_of(space, 140) == "new+0");
  CHECK(text_of(space, 160) == "old+1060");
  CHECK(text_of(space, 200) == "none");
  space.add({50, 300, 0, "all"});
  CHECK(text_of(space, 150) == "all+100");
  CHECK(space.size() == 1);
  space.add({0, 50, 0, "before"});
  space.add({300, 301, 0, "behind"});
  CHECK(space.size() == 3);
  space.add({40, 60, 7, "edge"});
  CHECK(text_of(space, 39) == "before+39");
  CHECK(text_of(space, 59) == "edge+26");
  CHECK(text_of(space, 60) == "all+10");
}

TEST_CASE("a process that maps without end fills nothing", "[sampler]") {
  AddressSpace space;
  for (std::uint64_t i = 0; i < 70'000; ++i) space.add({i * 2, i * 2 + 1, 0, "x"});
  CHECK(space.size() > 10'000);
  CHECK(space.size() < 20'000);
  // Those that are known already are found, and make room for others in their places.
  CHECK(text_of(space, 0) == "x+0");
  space.add({0, 2000, 0, "all"});
  CHECK(text_of(space, 1) == "all+1");
  space.add({200'000, 200'001, 0, std::string(4096, 'x')});
  CHECK(text_of(space, 200'000) == std::string(4096, 'x') + "+0");
}
