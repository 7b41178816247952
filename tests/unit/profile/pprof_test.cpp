#include <array>
#include <map>

#include <zlib.h>

#include <catch2/catch.hpp>

#include "profile/form.hpp"
#include "profile/protobuf.hpp"
#include "tests/unit/profile/profiles.hpp"

using namespace farport::profile;
using namespace farport::test;

namespace {

std::string gunzip(const std::string& file) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  std::string in = file;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  std::string bytes;
  std::array<char, 4096> part{};
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = part.size();
    state = inflate(&stream, Z_NO_FLUSH);
    bytes.append(part.data(), part.size() - stream.avail_out);
  }
  CHECK(state == Z_STREAM_END);
  CHECK(stream.avail_in == 0);
  inflateEnd(&stream);
  return bytes;
}

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(0));
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
}

/// A message's fields, with the bytes of those that have a length; numbers are left out.
std::multimap<std::uint64_t, std::string> fields_of(std::string_view bytes) {
  std::multimap<std::uint64_t, std::string> fields;
  while (!bytes.empty()) {
    const std::uint64_t tag = take_varint(bytes);
    const std::uint64_t value = take_varint(bytes);
    if ((tag & 7) != 2) continue;
    fields.emplace(tag >> 3, bytes.substr(0, value));
    bytes.remove_prefix(value);
  }
  return fields;
}

std::vector<std::string> strings_of(const Profile& profile) {
  const auto fields = fields_of(gunzip(written(profile, Form::pprof)));
  std::vector<std::string> strings;
  for (auto [each, end] = fields.equal_range(6); each != end; ++each) strings.push_back(each->second);
  return strings;
}

}  // namespace

TEST_CASE("Protocol Buffers are written as their documentation has it", "[profile]") {
  CHECK(Message().number(1, 150).bytes() == "\x08\x96\x01");
  CHECK(Message().text(2, "testing").bytes() == "\x12\x07testing");
  CHECK(Message().element(3, Message().number(1, 150)).bytes() == "\x1a\x03\x08\x96\x01");
  CHECK(Message().packed(6, std::vector<std::uint64_t>{3, 270, 86942}).bytes() ==
        "\x32\x06\x03\x8E\x02\x9E\xA7\x05");
  CHECK(Message().number(1, 0).text(2, "").bytes().empty());
  CHECK(Message().element(2, std::string_view()).bytes() == std::string("\x12\0", 2));
}

TEST_CASE("pprof's profile has each thing once", "[profile]") {
  const auto profile = ProfileBuilder(Clock::wall)
                           .thread(7, "main")
                           .samples(2, {managed("Main"), native("memcpy")})
                           .sample({managed("Main")}, true)
                           .take();
  const auto fields = fields_of(gunzip(written(profile, Form::pprof)));
  CHECK(fields.count(1) == 2);  // Types of values.
  CHECK(fields.count(2) == 2);  // Samples.
  CHECK(fields.count(3) == 3);  // Mappings: the process, and two modules.
  CHECK(fields.count(4) == 2);  // Locations.
  CHECK(fields.count(5) == 2);  // Functions.
  const std::vector<std::string> strings = strings_of(profile);
  CHECK(strings.front().empty());
  for (const char* each : {"samples", "count", "wall", "nanoseconds", "Main", "memcpy", "Orders.dll",
                           "thread", "main", "thread_id", "state", "waiting"}) {
    CHECK(std::count(strings.begin(), strings.end(), each) == 1);
  }
}

TEST_CASE("a frame without a name has no function in pprof's profile", "[profile]") {
  Frame unknown = native("");
  unknown.build_id = "0123abcd";
  unknown.address = 0x1234;
  const auto profile = ProfileBuilder().sample({unknown}).take();
  const auto fields = fields_of(gunzip(written(profile, Form::pprof)));
  CHECK(fields.count(4) == 1);
  CHECK(fields.count(5) == 0);
  const std::vector<std::string> strings = strings_of(profile);
  CHECK(std::count(strings.begin(), strings.end(), "0123abcd") == 1);
}

TEST_CASE("pprof's strings are escaped, and stacks as deep as they like", "[profile]") {
  const std::vector<std::string> strings = strings_of(ProfileBuilder().sample({native(kHostileName)}).take());
  CHECK(std::count(strings.begin(), strings.end(),
                   "a;b\\n</script><img src=x>\"'&\\\\x1b[31m\\u{202e}]]>\\x80\\xff") == 1);
  CHECK(fields_of(gunzip(written(deep_profile(100'000), Form::pprof))).count(2) == 1);
  CHECK(fields_of(gunzip(written(ProfileBuilder().take(), Form::pprof))).count(2) == 0);
}
