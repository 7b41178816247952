#include "ipc/event_pipe.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/ipc/bytes.hpp"

using namespace farport::ipc;
using farport::test::check_truncated_at_every_byte;
using farport::test::hex;

namespace {

const std::string kBufferAndFormat = "00010000 01000000";
const std::string kRundownKeyword = "3901028000000000";
// Two providers: "P" with the filter "f", and "Q" without one.
const std::string kFirst = "FFFFFFFFFFFFFFFF 05000000 02000000 5000 0000 02000000 6600 0000";
const std::string kSecond = "0100000000000000 04000000 02000000 5100 0000 00000000";
const std::string kProviders = "02000000" + kFirst + kSecond;
const std::string kFilter = "01 02000000 02000000 04000000";
const std::string kNoFilter = "00 00000000";
const std::string kFilteredProviders = "02000000" + kFirst + kFilter + kSecond + kNoFilter;
// A default tracepoint and one for event 7; and no default, but one for events 8 and 9.
const std::string kTracepoints = "02000000 6400 0000 01000000 02000000 7400 0000 01000000 07000000";
const std::string kOtherTracepoints = "00000000 01000000 02000000 7500 0000 02000000 08000000 09000000";

struct Layout {
  Command command;
  std::string payload;
};

const std::vector<Layout>& streaming_layouts() {
  static const std::vector<Layout> layouts{
      {kCollectTracing, kBufferAndFormat + kProviders},
      {kCollectTracing2, kBufferAndFormat + "01" + kProviders},
      {kCollectTracing3, kBufferAndFormat + "01 00" + kProviders},
      {kCollectTracing4, kBufferAndFormat + kRundownKeyword + "00" + kProviders},
      {kCollectTracing5, "00000000" + kBufferAndFormat + kRundownKeyword + "00" + kFilteredProviders},
      {kCollectTracing6,
       "00000000" + kBufferAndFormat + kRundownKeyword + "00" + kFilteredProviders + "01000000"},
  };
  return layouts;
}

std::string user_events_payload() {
  return "01000000" + kRundownKeyword + "02000000" + kFirst + kFilter + kTracepoints + kSecond + kNoFilter +
         kOtherTracepoints;
}

auto decoder(Command command) {
  return [command](BytesView payload) { return CollectTracing::decode(command, payload); };
}

}  // namespace

TEST_CASE("every version of CollectTracing goes both ways", "[ipc]") {
  for (const Layout& layout : streaming_layouts()) {
    INFO(describe(layout.command));
    const Bytes payload = hex(layout.payload);
    check_truncated_at_every_byte(payload, decoder(layout.command), false);
    const CollectTracing session = CollectTracing::decode(layout.command, payload).value();
    CHECK(session.version == layout.command);
    CHECK(session.encode() == payload);

    CHECK(session.session_type == SessionType::streaming);
    CHECK(session.buffer_size_mb == 256);
    CHECK(session.format == 1);
    CHECK(session.rundown);
    CHECK(session.rundown_keyword == (layout.command >= kCollectTracing4 ? 0x80020139 : 0));
    CHECK(session.stackwalk == (layout.command < kCollectTracing3));
    CHECK(session.buffer_mode == (layout.command == kCollectTracing6 ? BufferMode::block : BufferMode::drop));
  }
}

TEST_CASE("a buffer's size is changed in place", "[ipc]") {
  for (const Layout& layout : streaming_layouts()) {
    INFO(describe(layout.command));
    Bytes payload = hex(layout.payload);
    change_buffer_size(layout.command, payload, 40);
    CollectTracing session = CollectTracing::decode(layout.command, payload).value();
    CHECK(session.buffer_size_mb == 40);
    session.buffer_size_mb = 256;
    CHECK(session.encode() == hex(layout.payload));
    Bytes cut(3);
    change_buffer_size(layout.command, cut, 40);
    CHECK(cut == Bytes(3));
  }
}

TEST_CASE("a session names its providers", "[ipc]") {
  for (const Layout& layout : streaming_layouts()) {
    INFO(describe(layout.command));
    const CollectTracing session = CollectTracing::decode(layout.command, hex(layout.payload)).value();
    REQUIRE(session.providers.size() == 2);
    const Provider& first = session.providers[0];
    CHECK(first.keywords == 0xFFFFFFFFFFFFFFFF);
    CHECK(first.level == 5);
    CHECK(first.name == "P");
    CHECK(first.filter == "f");
    const bool filtered = layout.command >= kCollectTracing5;
    CHECK(first.event_filter.enable == filtered);
    CHECK(first.event_filter.event_ids.size() == (filtered ? 2 : 0));
    const Provider& second = session.providers[1];
    CHECK(second.keywords == 1);
    CHECK(second.name == "Q");
    CHECK(second.filter == std::nullopt);
    CHECK_FALSE(second.event_filter.enable);
  }
}

TEST_CASE("a rundown is asked for by a flag, then by a keyword", "[ipc]") {
  CHECK_FALSE(
      CollectTracing::decode(kCollectTracing2, hex(kBufferAndFormat + "00" + kProviders)).value().rundown);
  const std::string none = kBufferAndFormat + "0000000000000000 01" + kProviders;
  CHECK_FALSE(CollectTracing::decode(kCollectTracing4, hex(none)).value().rundown);
}

TEST_CASE("a user_events session is known as one", "[ipc]") {
  const Bytes payload = hex(user_events_payload());
  for (const Command command : {kCollectTracing5, kCollectTracing6}) {
    INFO(describe(command));
    check_truncated_at_every_byte(payload, decoder(command), false);
    const CollectTracing session = CollectTracing::decode(command, payload).value();
    CHECK(session.session_type == SessionType::user_events);
    REQUIRE(session.providers.size() == 2);
    const TracepointConfig& first = session.providers[0].tracepoints;
    CHECK(first.default_name == "d");
    REQUIRE(first.sets.size() == 1);
    CHECK(first.sets[0].name == "t");
    CHECK(first.sets[0].event_ids == std::vector<std::uint32_t>{7});
    CHECK(session.providers[1].tracepoints.default_name == std::nullopt);
    CHECK(session.providers[1].tracepoints.sets.at(0).event_ids == std::vector<std::uint32_t>{8, 9});
    CHECK(session.encode() == payload);
  }
}

TEST_CASE("unknown kinds of sessions are refused", "[ipc]") {
  const std::string rest = kBufferAndFormat + kRundownKeyword + "00" + kFilteredProviders;
  const auto type = CollectTracing::decode(kCollectTracing5, hex("02000000" + rest));
  REQUIRE_FALSE(type.has_value());
  CHECK(type.error().message() == "cannot decode CollectTracing5: unknown session type 2");
  const auto mode = CollectTracing::decode(kCollectTracing6, hex("00000000" + rest + "02000000"));
  REQUIRE_FALSE(mode.has_value());
  CHECK(mode.error().why == "unknown buffer mode 2");
}

TEST_CASE("counts of providers that lie are refused", "[ipc]") {
  for (const std::string count : {"03000000", "FFFFFFFF", "00000080"}) {
    INFO(count);
    CHECK_FALSE(
        CollectTracing::decode(kCollectTracing2, hex(kBufferAndFormat + "01" + count + kFirst + kSecond)));
  }
  const std::string head = "01000000" + kRundownKeyword + "01000000" + kFirst;
  for (const std::string tail : {"01 FFFFFFFF 00000000", "00 00000000 00000000 FFFFFFFF 00000000 00000000"}) {
    INFO(tail);
    CHECK_FALSE(CollectTracing::decode(kCollectTracing5, hex(head + tail)));
  }
}

TEST_CASE("only CollectTracing starts a session", "[ipc]") {
  for (const NamedCommand& named : all_commands()) {
    INFO(named.name);
    CHECK(is_collect_tracing(named.command) == named.name.starts_with("CollectTracing"));
  }
  CHECK_FALSE(is_collect_tracing({0x02, 0x08}));
  CHECK_FALSE(CollectTracing::decode(kStopTracing, hex("0100000000000000")).has_value());
}

TEST_CASE("a session's id has 8 bytes", "[ipc]") {
  const Bytes payload = hex("F0DEBC9A78563412");
  check_truncated_at_every_byte(payload, SessionId::decode);
  CHECK(SessionId::decode(payload).value().value == 0x123456789ABCDEF0);
  CHECK(SessionId{0x123456789ABCDEF0}.encode() == payload);
}

TEST_CASE("what an older runtime is asked instead", "[ipc]") {
  CollectTracing session;
  session.version = kCollectTracing4;
  session.rundown = false;
  session.rundown_keyword = 1;
  session.providers.resize(1);
  session.providers[0].name = "P";
  const auto second = session.older();
  REQUIRE(second);
  CHECK(second->version == kCollectTracing2);
  CHECK_FALSE(second->rundown);
  CHECK(second->providers[0].name == "P");
  CHECK_FALSE(second->older());
  session.stackwalk = false;
  const auto third = session.older();
  REQUIRE(third);
  CHECK(third->version == kCollectTracing3);
  REQUIRE(third->older());
  CHECK(third->older()->version == kCollectTracing2);
  session.version = kCollectTracing5;
  session.session_type = SessionType::user_events;
  CHECK_FALSE(session.older());
}
