// Stacks in memory that a test has made.
#include "router/agent/sampler/stack_walk.hpp"

#include <cstring>
#include <map>

#include <catch2/catch.hpp>

using namespace farport::router;

namespace {

constexpr std::uint64_t kCode = 0x400000;
constexpr std::uint64_t kStack = 0x7F0000;
constexpr std::size_t kSize = 0x10000;

class MadeMemory final : public Memory {
 public:
  MadeMemory() {
    // A call of five bytes stands before each place that a test returns to.
    for (std::uint64_t each = 0; each < kSize; each += 0x10) code_[each + 0xB] = std::byte{0xE8};
  }
  void put(std::uint64_t address, std::uint64_t value) {
    std::memcpy(stack_.data() + (address - kStack), &value, sizeof value);
  }
  bool read(std::uint64_t address, std::span<std::byte> to) override {
    const std::vector<std::byte>& part = address >= kStack ? stack_ : code_;
    const std::uint64_t place = address - (address >= kStack ? kStack : kCode);
    if (place > part.size() || to.size() > part.size() - place) return false;
    std::memcpy(to.data(), part.data() + place, to.size());
    return true;
  }

 private:
  std::vector<std::byte> code_ = std::vector<std::byte>(kSize);
  std::vector<std::byte> stack_ = std::vector<std::byte>(kSize);
};

AddressSpace code_space() {
  AddressSpace space;
  space.add({kCode, kCode + kSize, 0, {}, 0});
  return space;
}

}  // namespace

TEST_CASE("A chain of frame pointers is found in the stack and followed to its end") {
  MadeMemory memory;
  const AddressSpace space = code_space();
  // What a function keeps there is no frame, whatever it looks like.
  memory.put(kStack + 0x10, kStack + 0x40);
  memory.put(kStack + 0x18, 0x1234);
  memory.put(kStack + 0x40, kStack + 0x80);
  memory.put(kStack + 0x48, kCode + 0x110);
  memory.put(kStack + 0x80, 0);
  memory.put(kStack + 0x88, kCode + 0x220);
  CHECK(StackWalk(memory, memory, space).walk({kCode + 0x55, kStack}) ==
        std::vector<std::uint64_t>{kCode + 0x55, kCode + 0x110, kCode + 0x220});
}

TEST_CASE("A chain that leads back, or nowhere, or on and on, ends") {
  MadeMemory memory;
  const AddressSpace space = code_space();
  SECTION("back") {
    memory.put(kStack + 0x40, kStack + 0x80);
    memory.put(kStack + 0x48, kCode + 0x110);
    memory.put(kStack + 0x80, kStack + 0x40);
    memory.put(kStack + 0x88, kCode + 0x220);
    CHECK(StackWalk(memory, memory, space).walk({kCode, kStack}).size() == 3);
  }
  SECTION("nowhere") {
    memory.put(kStack + 0x40, kStack + 0xFFFFFF8);
    memory.put(kStack + 0x48, kCode + 0x110);
    CHECK(StackWalk(memory, memory, space).walk({kCode, kStack}).size() == 2);
  }
  SECTION("on and on") {
    for (std::uint64_t each = 0; each + 0x20 < kSize; each += 0x10) {
      memory.put(kStack + each, kStack + each + 0x10);
      memory.put(kStack + each + 8, kCode + 0x110);
    }
    CHECK(StackWalk(memory, memory, space).walk({kCode, kStack}).size() == 127);
  }
  SECTION("no stack") {
    CHECK(StackWalk(memory, memory, space).walk({kCode, 0}).size() == 1);
    CHECK(StackWalk(memory, memory, space).walk({0, UINT64_MAX}).size() == 1);
  }
}
