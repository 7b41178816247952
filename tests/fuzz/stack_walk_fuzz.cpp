// Fuzzes walking a stack in a process's memory. An input is: where the thread is, and how far behind the
// beginning of its memory its stack is, two bytes each; then the memory. All of it may be executed.
#include <cstring>

#include "router/agent/sampler/stack_walk.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport::router;
using farport::fuzz::require;

namespace {

constexpr std::uint64_t kBase = 0x10000;

class GivenMemory final : public Memory {
 public:
  explicit GivenMemory(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool read(std::uint64_t address, std::span<std::byte> to) override {
    const std::uint64_t place = address - kBase;
    if (address < kBase || place > bytes_.size() || to.size() > bytes_.size() - place) return false;
    if (!to.empty()) std::memcpy(to.data(), bytes_.data() + place, to.size());
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHead = 4;
  if (size <= kHead) return 0;
  const std::uint64_t instruction = kBase + data[0] + data[1] * 256U;
  const std::uint64_t stack = kBase + data[2] + data[3] * 256U;
  GivenMemory memory(std::as_bytes(std::span(data, size)).subspan(kHead));
  AddressSpace space;
  space.add({kBase, kBase + size, 0, "/file", kBase});
  const auto found = StackWalk(memory, memory, space).walk({instruction, stack});
  require(found.size() <= 127 && found.front() == instruction,
          "a stack begins where the thread is, and is no longer than any may be");
  for (const std::uint64_t each : std::span(found).subspan(1)) {
    require(space.find(each - 1) != nullptr, "a caller goes on where there is code");
  }
  return 0;
}
