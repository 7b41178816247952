#include "ipc/message.hpp"

#include <set>

#include <catch2/catch.hpp>

#include "tests/unit/ipc/bytes.hpp"

using namespace farport::ipc;
using farport::test::check_truncated_at_every_byte;
using farport::test::hex;

namespace {

// "DOTNET_IPC_V1" and a zero.
const std::string kMagic = "444F544E45545F4950435F563100";
const std::string kAdvertiseMagic = "414456525F563100";

}  // namespace

TEST_CASE("a message is a header and a payload", "[ipc]") {
  const Message message = make_message(kStopTracing, hex("0102"));
  const Bytes bytes = encode_message(message).value();
  CHECK(bytes == hex(kMagic + "1600 02 01 0000 0102"));

  const Header header = decode_header(bytes).value();
  CHECK(header.command() == kStopTracing);
  CHECK(header.size == 22);
  CHECK(header.payload_size() == 2);
  CHECK(header.reserved == 0);

  const Message decoded = decode_message(bytes).value();
  CHECK(decoded.command() == kStopTracing);
  CHECK(decoded.payload == message.payload);
}

TEST_CASE("a header says how long its message is, whatever follows", "[ipc]") {
  const Bytes bytes = hex(kMagic + "FFFF 04 00 3412 99");
  check_truncated_at_every_byte(hex(kMagic + "FFFF 04 00 3412"), decode_header);
  const Header header = decode_header(bytes).value();
  CHECK(header.payload_size() == kMaxMessagePayload);
  const auto encoded = encode_header(header);
  CHECK(Bytes(encoded.begin(), encoded.end()) == Bytes(bytes.begin(), bytes.end() - 1));
}

TEST_CASE("anything without the magic is refused", "[ipc]") {
  const Bytes good = hex(kMagic + "1400 04 00 0000");
  REQUIRE(decode_header(good).has_value());
  for (std::size_t i = 0; i < 14; ++i) {
    Bytes bad = good;
    bad[i] ^= std::byte{0x20};
    const auto header = decode_header(bad);
    REQUIRE_FALSE(header.has_value());
    CHECK(header.error().why == "it does not begin with DOTNET_IPC_V1");
  }
}

TEST_CASE("a message's size that lies is refused", "[ipc]") {
  const auto small = decode_header(hex(kMagic + "1300 04 00 0000"));
  REQUIRE_FALSE(small.has_value());
  CHECK(small.error().why == "its size is given as 19, less than its header's 20 bytes");
  CHECK_FALSE(decode_header(hex(kMagic + "0000 04 00 0000")).has_value());

  CHECK_FALSE(decode_message(hex(kMagic + "1500 04 00 0000")).has_value());
  const auto longer = decode_message(hex(kMagic + "1500 04 00 0000 0102"));
  REQUIRE_FALSE(longer.has_value());
  CHECK(longer.error().why == "its size is given as 21, but there are 22 bytes");
}

TEST_CASE("a payload that does not fit is refused", "[ipc]") {
  CHECK(encode_message(make_message(kStopTracing, Bytes(kMaxMessagePayload))).value().size() ==
        kMaxMessageSize);
  const auto too_long = encode_message(make_message(kStopTracing, Bytes(kMaxMessagePayload + 1)));
  REQUIRE_FALSE(too_long.has_value());
  CHECK(too_long.error().on == "the IPC message StopTracing");
}

TEST_CASE("commands have names", "[ipc]") {
  std::set<Command> commands;
  std::set<std::string_view> names;
  for (const NamedCommand& named : all_commands()) {
    commands.insert(named.command);
    names.insert(named.name);
    CHECK(name_of(named.command) == named.name);
    CHECK(describe(named.command) == named.name);
  }
  CHECK(commands.size() == all_commands().size());
  CHECK(names.size() == all_commands().size());

  CHECK(name_of({0x02, 0x03}) == "CollectTracing2");
  CHECK(name_of({0x01, 0x03}) == "GenerateCoreDump3");
  CHECK(name_of({0x04, 0x08}) == "ProcessInfo3");
  CHECK(name_of({0x02, 0x42}).empty());
  CHECK(name_of(kOk).empty());
  CHECK(describe({0x02, 0xAB}) == "unknown command 0x02/0xAB");
}

TEST_CASE("an error answer carries an HRESULT, and perhaps a text", "[ipc]") {
  const Bytes bare = encode_error(hresult::kAccessDenied);
  CHECK(bare == hex(kMagic + "1800 FF FF 0000 05000780"));
  const Message answer = decode_message(bare).value();
  CHECK(is_error(answer));
  CHECK_FALSE(is_ok(answer));
  const ErrorAnswer error = decode_error(answer).value();
  CHECK(error.hresult == hresult::kAccessDenied);
  CHECK(error.text.empty());
  CHECK(error.message() == "access denied (0x80070005)");

  const Message with_text = decode_message(encode_error(hresult::kFail, "disk full")).value();
  CHECK(decode_error(with_text).value().text == "disk full");
  CHECK(decode_error(with_text).value().message() == "disk full: the command failed (0x80004005)");
  CHECK(describe_hresult(0x8000FFFF) == "HRESULT 0x8000FFFF");
}

TEST_CASE("an error's text that is broken doesn't hide its HRESULT", "[ipc]") {
  const Message whole = decode_message(encode_error(hresult::kFail, "disk full")).value();
  for (std::size_t size = 0; size < whole.payload.size(); ++size) {
    const Bytes part(whole.payload.begin(), whole.payload.begin() + static_cast<std::ptrdiff_t>(size));
    const auto error = decode_error(make_message(kError, part));
    INFO(size);
    REQUIRE(error.has_value() == (size >= 4));
    if (!error) continue;
    CHECK(error->hresult == hresult::kFail);
    CHECK(error->text.empty());
  }
  // An HRESULT of eight bytes, as the protocol's document shows it once.
  CHECK(decode_error(make_message(kError, hex("84131380 FFFFFFFF"))).value().hresult ==
        hresult::kBadEncoding);
}

TEST_CASE("a text that is too long for an error answer is cut between characters", "[ipc]") {
  std::string text = "x";
  while (text.size() < 100'000) text += "é";
  const Message answer = decode_message(encode_error(hresult::kFail, text)).value();
  const std::string cut = decode_error(answer).value().text;
  CHECK(cut.size() == 999);
  CHECK(text.starts_with(cut));
  // No character begins anywhere in this.
  CHECK(decode_message(encode_error(hresult::kFail, std::string(2000, '\x80'))).has_value());
}

TEST_CASE("an OK answer is no error", "[ipc]") {
  const Bytes bytes = encode_ok();
  CHECK(bytes == hex(kMagic + "1800 FF 00 0000 00000000"));
  const Message answer = decode_message(bytes).value();
  CHECK(is_ok(answer));
  CHECK_FALSE(is_error(answer));
  REQUIRE_FALSE(decode_error(answer).has_value());
  CHECK(decode_error(answer).error().message() == "cannot decode an error answer: it is OK");
  CHECK_FALSE(decode_error(make_message(kProcessInfo)).has_value());
}

TEST_CASE("an advertise has 34 bytes", "[ipc]") {
  const Bytes bytes = hex(kAdvertiseMagic + "67453e12 9be8 d312 a456 426614174000 3930000000000000 0000");
  REQUIRE(bytes.size() == kAdvertiseSize);
  check_truncated_at_every_byte(bytes, decode_advertise);
  const Advertise advertise = decode_advertise(bytes).value();
  CHECK(advertise.cookie.to_string() == "123e4567-e89b-12d3-a456-426614174000");
  CHECK(advertise.pid == 12345);
  const auto again = encode_advertise(advertise);
  CHECK(Bytes(again.begin(), again.end()) == bytes);

  for (std::size_t i = 0; i < 8; ++i) {
    Bytes bad = bytes;
    bad[i] ^= std::byte{1};
    CHECK_FALSE(decode_advertise(bad).has_value());
  }
}
