#include "router/agent/gate/gate.hpp"

#include <catch2/catch.hpp>

#include "auth/policy.hpp"
#include "ipc/message.hpp"
#include "ipc/payload.hpp"
#include "tests/unit/ipc/bytes.hpp"

using namespace farport;
using namespace farport::router;
using farport::test::hex;

namespace {

const std::string kRundownKeyword = "0000000000000000";
const std::string kProvider = "FFFFFFFFFFFFFFFF 05000000 02000000 5000 0000 00000000 00 00000000";
/// CollectTracing5, and 6 up to its buffer mode.
const std::string kStreaming = "00000000 00010000 01000000" + kRundownKeyword + "00" + "01000000" + kProvider;
const std::string kUserEvents = "01000000" + kRundownKeyword + "00000000";

FirstMessage message(ipc::Command command, std::string_view payload = {}) {
  const ipc::Bytes bytes = hex(payload);
  FirstMessage first;
  first.header = {command.set, command.id, static_cast<std::uint16_t>(ipc::kHeaderSize + bytes.size()), 0};
  const auto head = ipc::encode_header(first.header);
  first.bytes.assign(head.begin(), head.end());
  first.bytes.insert(first.bytes.end(), bytes.begin(), bytes.end());
  return first;
}

auth::PolicyRules rules() {
  auth::PolicyRules rules;
  rules.roles = {{"blocker", {"observer"}, {"BlockingSession"}},
                 {"only-6", {}, {"CollectTracing6"}},
                 {"only-block", {}, {"BlockingSession"}}};
  for (const std::string name : {"observer", "operator", "admin", "blocker", "only-6", "only-block"}) {
    auth::Grant& grant = rules.grants.emplace_back();
    grant.text = "allow-cn=" + name;
    grant.identity.cn = {name};
    grant.role = name;
  }
  return rules;
}

/// The gate for callers whose name is their role.
class Gate {
 public:
  [[nodiscard]] Caller caller(const std::string& role) const {
    Caller caller;
    caller.identity.emplace().common_name = role;
    caller.access = policy_.access_of(*caller.identity);
    return caller;
  }
  [[nodiscard]] Decision rule(const std::string& role, const FirstMessage& first) const {
    return authorize(caller(role), runtime_, first);
  }
  [[nodiscard]] const Runtime& runtime() const { return runtime_; }

 private:
  auth::Policy policy_ = auth::Policy::make(rules()).value();
  Runtime runtime_{.id = "id",
                   .pid = 1,
                   .name = "orders",
                   .command_line = "/app/orders",
                   .os = "Linux",
                   .architecture = "x64",
                   .version = "10.0.0",
                   .state = RuntimeState::running,
                   .host = {},
                   .since = {},
                   .container = {}};
};

}  // namespace

TEST_CASE("the gate asks for a command by its name in the protocol", "[router]") {
  const Gate gate;
  const Decision allowed = gate.rule("observer", message(ipc::kProcessInfo2));
  CHECK(allowed.allowed);
  CHECK(allowed.rule == "allow-cn=observer");
  CHECK(allowed.role == "observer");
  const Decision refused = gate.rule("operator", message(ipc::kSetEnvironmentVariable));
  CHECK_FALSE(refused.allowed);
  CHECK(refused.refusal.status == 403);
  CHECK(refused.refusal.hresult == ipc::hresult::kAccessDenied);
  CHECK(refused.refusal.why ==
        "SetEnvironmentVariable takes the role admin; CN=operator has only operator (allow-cn=operator)");
  CHECK(gate.rule("operator", message(ipc::kProcessEnvironment)).allowed);
  CHECK_FALSE(gate.rule("observer", message(ipc::kProcessEnvironment)).allowed);
}

TEST_CASE("a payload that doesn't fit its command is refused to everybody", "[router]") {
  const Gate gate;
  for (const ipc::NamedCommand& named : ipc::all_commands()) {
    if (ipc::is_core_dump(named.command)) continue;
    INFO(named.name);
    const bool has_none = named.name.starts_with("ProcessInfo") || named.command == ipc::kResumeRuntime ||
                          named.command == ipc::kProcessEnvironment || named.command == ipc::kDisablePerfMap;
    for (const std::string payload : {"", "FF"}) {
      const Decision decision = gate.rule("admin", message(named.command, payload));
      const bool empty_is_right = has_none && payload.empty();
      CHECK(decision.allowed == empty_is_right);
      if (empty_is_right) continue;
      CHECK(decision.refusal.status == 400);
      CHECK(decision.refusal.hresult == ipc::hresult::kBadEncoding);
      CHECK_THAT(decision.refusal.why, Catch::Contains(std::string(named.name)));
    }
    // Who may not send it anyway hears just that.
    if (!has_none && named.command != ipc::kCollectTracing6)
      CHECK(gate.rule("only-6", message(named.command)).refusal.status == 403);
  }
}

TEST_CASE("commands that nobody knows are for those who may send such", "[router]") {
  const Gate gate;
  for (const ipc::Command command :
       {ipc::Command{0x04, 0x7E}, ipc::Command{0x00, 0x00}, ipc::Command{0x02, 0x00},
        ipc::Command{0x02, 0x08}, ipc::kOk, ipc::kError}) {
    INFO(ipc::describe(command));
    CHECK(gate.rule("admin", message(command)).allowed);
    for (const auto* role : {"observer", "operator", "blocker", "only-6"}) {
      CHECK(gate.rule(role, message(command)).refusal.hresult == ipc::hresult::kAccessDenied);
    }
  }
}

TEST_CASE("a dump to a path of the caller's is for nobody", "[router]") {
  const Gate gate;
  for (const ipc::Command command :
       {ipc::kGenerateCoreDump, ipc::kGenerateCoreDump2, ipc::kGenerateCoreDump3}) {
    for (const auto* role : {"operator", "admin"}) {
      const Decision decision = gate.rule(role, message(command));
      CHECK_FALSE(decision.allowed);
      CHECK(decision.refusal.status == 501);
      CHECK(decision.refusal.hresult == ipc::hresult::kNotSupported);
    }
    // Not even how else it would go is said to somebody who may not.
    CHECK(gate.rule("observer", message(command)).refusal.status == 403);
  }
}

TEST_CASE("the agent takes a dump for whom the newest of the commands is allowed", "[router]") {
  const Gate gate;
  CHECK(authorize_dump(gate.caller("operator"), gate.runtime()).allowed);
  const Decision refused = authorize_dump(gate.caller("observer"), gate.runtime());
  CHECK_FALSE(refused.allowed);
  CHECK(refused.refusal.status == 403);
  CHECK_THAT(refused.refusal.why, Catch::Contains("GenerateCoreDump3 takes the role operator or admin"));
}

TEST_CASE("a user_events session is for nobody, whatever follows its type", "[router]") {
  const Gate gate;
  for (const ipc::Command command : {ipc::kCollectTracing5, ipc::kCollectTracing6}) {
    for (const std::string& payload :
         {kUserEvents, kUserEvents + "FFFFFFFF", std::string("01000000"), std::string("01000000 FF"),
          std::string("01000000") + kRundownKeyword + "FFFFFFFF"}) {
      INFO(ipc::describe(command) << " " << payload);
      for (const auto* role : {"observer", "admin", "only-6", "only-block"}) {
        const Decision decision = gate.rule(role, message(command, payload));
        CHECK_FALSE(decision.allowed);
        CHECK(decision.refusal.status == 501);
        CHECK(decision.refusal.hresult == ipc::hresult::kNotSupported);
      }
    }
  }
  // In an older command the same bytes are the size of a buffer.
  CHECK(gate.rule("observer", message(ipc::kCollectTracing4, kUserEvents + "00 00000000")).allowed);
}

TEST_CASE("a blocking session is an unknown command but for a role that names it", "[router]") {
  const Gate gate;
  const FirstMessage blocking = message(ipc::kCollectTracing6, kStreaming + "01000000");
  for (const auto* role : {"observer", "operator", "admin", "only-6"}) {
    const Decision decision = gate.rule(role, blocking);
    CHECK_FALSE(decision.allowed);
    CHECK(decision.refusal.status == 403);
    CHECK(decision.refusal.hresult == ipc::hresult::kUnknownCommand);
    CHECK_THAT(decision.refusal.why,
               Catch::StartsWith("BlockingSession takes the role blocker or only-block"));
    CHECK(gate.rule(role, message(ipc::kCollectTracing6, kStreaming + "00000000")).allowed);
  }
  CHECK(gate.rule("blocker", blocking).allowed);
  // The command itself must be allowed as well.
  CHECK(gate.rule("only-block", blocking).refusal.hresult == ipc::hresult::kAccessDenied);
}

TEST_CASE("a command with bytes after its payload is for nobody", "[router]") {
  const Gate gate;
  const auto check = [&](ipc::Command command, const std::string& payload) {
    INFO(ipc::describe(command));
    CHECK(gate.rule("admin", message(command, payload)).allowed);
    const Decision decision = gate.rule("admin", message(command, payload + "00"));
    CHECK_FALSE(decision.allowed);
    CHECK(decision.refusal.hresult == ipc::hresult::kBadEncoding);
    CHECK_THAT(decision.refusal.why, Catch::Contains("1 bytes more than it has"));
  };
  const std::string text = "02000000 4100 0000";
  const std::string guid = "00112233445566778899AABBCCDDEEFF";
  check(ipc::kCollectTracing, "00010000 01000000" + std::string("00000000"));
  check(ipc::kCollectTracing2, "00010000 01000000 01" + std::string("00000000"));
  check(ipc::kCollectTracing5, kStreaming);
  check(ipc::kCollectTracing6, kStreaming + "00000000");
  check(ipc::kStopTracing, "0100000000000000");
  check(ipc::kSetEnvironmentVariable, text + text);
  check(ipc::kEnablePerfMap, "01000000");
  check(ipc::kApplyStartupHook, text);
  check(ipc::kAttachProfiler, "01000000" + guid + text + "00000000");
  check(ipc::kStartupProfiler, guid + text);
}

TEST_CASE("a session of which it can't be told whether it blocks is for nobody", "[router]") {
  const Gate gate;
  const ipc::Bytes whole = hex(kStreaming + "01000000");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO("only " << size << " bytes");
    FirstMessage first = message(ipc::kCollectTracing6);
    first.bytes.insert(first.bytes.end(), whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const Decision decision = gate.rule("blocker", first);
    CHECK_FALSE(decision.allowed);
    CHECK(decision.refusal.status == 400);
    CHECK(decision.refusal.hresult == ipc::hresult::kBadEncoding);
  }
}

TEST_CASE("counts that lie don't hide the buffer mode", "[router]") {
  const Gate gate;
  const std::string head = "00000000 00010000 01000000" + kRundownKeyword + "00";
  const std::string event_ids = "FFFFFFFFFFFFFFFF 05000000 02000000 5000 0000 00000000 00";
  for (const std::string& payload :
       {head + "FFFFFFFF" + kProvider + "01000000", head + "02000000" + kProvider + "01000000",
        head + "01000000" + event_ids + "FFFFFFFF 01000000",
        head + "01000000" + event_ids + "02000000 01000000",
        head + "01000000 FFFFFFFFFFFFFFFF 05000000 FFFFFF7F 5000 0000 01000000",
        // A mode that may mean anything to a later runtime.
        kStreaming + "02000000", kStreaming + "01000080",
        // A type that may as well.
        "02000000" + kStreaming.substr(8) + "00000000"}) {
    INFO(payload);
    for (const auto* role : {"observer", "admin", "blocker"}) {
      const Decision decision = gate.rule(role, message(ipc::kCollectTracing6, payload));
      CHECK_FALSE(decision.allowed);
      CHECK(decision.refusal.hresult == ipc::hresult::kBadEncoding);
    }
  }
  // With a smaller count the mode is where the runtime looks for it, in what was to be a provider: too much
  // follows.
  const std::string none = head + "00000000";
  CHECK(gate.rule("observer", message(ipc::kCollectTracing6, none + "00000000")).allowed);
  CHECK_FALSE(gate.rule("observer", message(ipc::kCollectTracing6, none + "00000000 01000000")).allowed);
  CHECK_FALSE(gate.rule("observer", message(ipc::kCollectTracing6, none + "01000000 00000000")).allowed);
}

TEST_CASE("a session of an older command is for nobody where its payload breaks off", "[router]") {
  const Gate gate;
  const ipc::Bytes whole = hex(kStreaming);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    INFO("only " << size << " bytes");
    FirstMessage first = message(ipc::kCollectTracing5);
    first.bytes.insert(first.bytes.end(), whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(gate.rule("observer", first).allowed == (size == whole.size()));
  }
  // There is no buffer mode here, or anything else that could follow.
  CHECK_FALSE(gate.rule("observer", message(ipc::kCollectTracing5, kStreaming + "01000000")).allowed);
}

TEST_CASE("a caller without a grant is told what to do", "[router]") {
  const Gate gate;
  const Caller stranger = gate.caller("stranger");
  CHECK_FALSE(stranger.sees(gate.runtime()));
  const Refusal refusal = no_role(stranger);
  CHECK(refusal.status == 403);
  CHECK(refusal.hresult == ipc::hresult::kAccessDenied);
  CHECK_THAT(refusal.why, Catch::StartsWith("CN=stranger has no role") && Catch::Contains("--allow-cn"));
  CHECK_FALSE(authorize(stranger, gate.runtime(), message(ipc::kProcessInfo)).allowed);
}
