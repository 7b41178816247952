// Rules of functions in a file that the test has made.
#include <cstring>
#include <vector>

#include <elf.h>

#include <catch2/catch.hpp>

#include "router/agent/sampler/stack_walk.hpp"

using namespace farport::router;

namespace {

constexpr std::uint64_t kBase = 0x10000;
constexpr std::uint64_t kIndex = 0x100;
constexpr std::uint64_t kCommon = 0x200;
constexpr std::uint64_t kRecord = 0x240;
constexpr std::uint64_t kFunction = 0x300;
constexpr std::uint32_t kFunctionSize = 64;

/// An ELF file with one function, 64 bytes from kFunction on.
class MadeFile final : public Memory {
 public:
  explicit MadeFile(std::vector<std::uint8_t> rules, std::string_view augmentation = "zR",
                    std::vector<std::uint8_t> augmented = {0x1B}) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_machine = EM_X86_64;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    put(0, header);
    put(sizeof header, Elf64_Phdr{PT_LOAD, PF_R, 0, 0, 0, bytes_.size(), bytes_.size(), 4096});
    put(sizeof header + sizeof(Elf64_Phdr),
        Elf64_Phdr{PT_GNU_EH_FRAME, PF_R, kIndex, kIndex, kIndex, 20, 20, 4});
    put(kIndex, std::array<std::uint8_t, 4>{1, 0x1B, 0x03, 0x3B});
    put(kIndex + 8, std::uint32_t{1});
    put(kIndex + 12, std::array{static_cast<std::int32_t>(kFunction - kIndex),
                                static_cast<std::int32_t>(kRecord - kIndex)});
    // Version, what is told, units of 1 and -8, returns to register 16; the end is 8 behind the stack
    // pointer.
    std::vector<std::uint8_t> common{0, 0, 0, 0, 1};
    common.insert(common.end(), augmentation.begin(), augmentation.end());
    for (const int each : {0, 1, 0x78, 16}) common.push_back(static_cast<std::uint8_t>(each));
    common.push_back(static_cast<std::uint8_t>(augmented.size()));
    common.insert(common.end(), augmented.begin(), augmented.end());
    for (const int each : {0x0C, 7, 8, 0x90, 1}) common.push_back(static_cast<std::uint8_t>(each));
    put_record(kCommon, common);
    std::vector<std::uint8_t> record(13);
    const auto back = static_cast<std::uint32_t>(kRecord + 4 - kCommon);
    const auto function = static_cast<std::int32_t>(kFunction - kRecord - 8);
    std::memcpy(record.data(), &back, 4);
    std::memcpy(record.data() + 4, &function, 4);
    std::memcpy(record.data() + 8, &kFunctionSize, 4);
    record.insert(record.end(), rules.begin(), rules.end());
    put_record(kRecord, record);
  }

  bool read(std::uint64_t address, std::span<std::byte> to) override {
    const std::uint64_t place = address - kBase;
    if (place > bytes_.size() || to.size() > bytes_.size() - place) return false;
    std::memcpy(to.data(), bytes_.data() + place, to.size());
    return true;
  }

  std::optional<FrameRules> at(std::uint64_t into) {
    const auto index = find_frame_index(*this, kBase);
    REQUIRE(index);
    return frame_rules_at(*this, *index, kBase + kFunction + into);
  }

 private:
  template <typename Value>
  void put(std::uint64_t place, const Value& value) {
    std::memcpy(bytes_.data() + place, &value, sizeof value);
  }
  void put_record(std::uint64_t place, const std::vector<std::uint8_t>& record) {
    put(place, static_cast<std::uint32_t>(record.size()));
    std::memcpy(bytes_.data() + place + 4, record.data(), record.size());
  }

  std::array<std::byte, 0x800> bytes_{};
};

}  // namespace

TEST_CASE("Rules change with each instruction of a function's beginning") {
  // push %rbp; mov %rsp,%rbp, as compilers write it down.
  MadeFile file({0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6});
  const auto first = file.at(0);
  REQUIRE(first);
  CHECK((!first->from_frame_pointer && first->offset == 8 && first->return_address == -8 &&
         !first->frame_pointer));
  CHECK(first->function == kBase + kFunction);
  const auto pushed = file.at(1);
  REQUIRE(pushed);
  CHECK((!pushed->from_frame_pointer && pushed->offset == 16 && pushed->frame_pointer == -16));
  CHECK_FALSE(file.at(3)->from_frame_pointer);
  CHECK(file.at(4)->from_frame_pointer);
  CHECK(file.at(63)->from_frame_pointer);
}

TEST_CASE("Nothing is known beside a function") {
  MadeFile file({});
  CHECK(file.at(63));
  CHECK_FALSE(file.at(64));
  CHECK_FALSE(file.at(static_cast<std::uint64_t>(-1)));
}

TEST_CASE("What is remembered comes back, the frame's end with it") {
  MadeFile file({0x41, 0x0E, 16, 0x0A, 0x44, 0x0E, 32, 0x44, 0x0B});
  CHECK(file.at(2)->offset == 16);
  CHECK(file.at(5)->offset == 32);
  CHECK(file.at(9)->offset == 16);
}

TEST_CASE("A function that says so has no caller") {
  MadeFile file({0x07, 16});
  REQUIRE(file.at(8));
  CHECK(file.at(8)->outermost);
}

TEST_CASE("Of what is not understood nothing is claimed to be known") {
  // The frame's end by an expression; an instruction that there is not; a frame pointer by one.
  CHECK_FALSE(MadeFile({0x0F, 2, 0x77, 8}).at(0));
  CHECK_FALSE(MadeFile({0x3F}).at(0));
  CHECK_FALSE(MadeFile({0x10, 6, 1, 0x50}).at(0));
  // Signals' frames, addresses in another form, and nothing that says in which.
  CHECK_FALSE(MadeFile({}, "zRS").at(0));
  CHECK_FALSE(MadeFile({}, "zR", {0x00}).at(0));
  CHECK_FALSE(MadeFile({}, "z", {}).at(0));
  // Who handles exceptions is passed over.
  CHECK(MadeFile({}, "zPLR", {0x9B, 1, 2, 3, 4, 0x1B, 0x1B}).at(0));
}
