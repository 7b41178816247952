#include "router/agent/gate/audit.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <spdlog/sinks/null_sink.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace farport;
using namespace farport::router;
using nlohmann::json;

namespace {

Caller caller_named(const std::string& name) {
  Caller caller;
  caller.address = "10.0.0.3:51000";
  caller.identity.emplace();
  caller.identity->common_name = name;
  return caller;
}

/// The lines that an audit has written of this many refused events of one caller and allowed ones.
std::vector<json> lines_of(std::size_t refused, std::size_t allowed, std::size_t callers = 1,
                           std::string_view event = "command", const std::string& command = {}) {
  const auto path = std::filesystem::temp_directory_path() / ("audit-" + std::to_string(::getpid()));
  std::filesystem::remove(path);
  {
    transport::Loop loop;
    const Log log = std::make_shared<Logger>(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>()));
    const auto audit = Audit::open(loop, log, path.string());
    REQUIRE(audit);
    for (std::size_t of = 0; of < callers; ++of) {
      const Caller caller = caller_named("caller" + std::to_string(of));
      AuditEntry entry{event, caller};
      entry.command = command;
      entry.outcome = {Outcome::Kind::refused, "no"};
      for (std::size_t n = 0; n < refused; ++n) (*audit)->write(entry);
      entry.allowed = true;
      for (std::size_t n = 0; n < allowed; ++n) (*audit)->write(entry);
    }
  }
  std::vector<json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
  std::filesystem::remove(path);
  return lines;
}

}  // namespace

TEST_CASE("of what is refused a hundred lines are written, and one that counts the rest", "[router]") {
  const auto lines = lines_of(250, 200);
  REQUIRE(lines.size() == 301);
  CHECK(lines[100]["decision"] == "allowed");
  CHECK(lines.back()["audit"] == "refusals");
  CHECK(lines.back()["identity"] == "CN=caller0");
  CHECK(lines.back()["outcome"] == "150 more were refused within a minute, and have no lines of their own");
}

TEST_CASE("of what is read a thousand lines are written, and one that counts the rest", "[router]") {
  const auto lines = lines_of(0, 1500, 1, "artifact", "get");
  REQUIRE(lines.size() == 1001);
  CHECK(lines.back()["audit"] == "reads");
  CHECK(lines.back()["decision"] == "allowed");
  CHECK(lines.back()["outcome"] == "500 more were read within a minute, and have no lines of their own");
  CHECK(lines_of(0, 1500, 1, "artifact", "remove").size() == 1500);
}

TEST_CASE("one who is refused often takes no line from another", "[router]") {
  CHECK(lines_of(100, 0, 3).size() == 300);
}

TEST_CASE("very many who are refused share what is left", "[router]") {
  const auto lines = lines_of(1, 0, 1000);
  CHECK(lines.size() == 256 + 100 + 1);
  CHECK(lines.back()["outcome"].get<std::string>().find("for several callers") != std::string::npos);
}

TEST_CASE("a line is never longer than 8 KiB, and always JSON", "[router]") {
  Runtime runtime;
  for (const std::string& text :
       {std::string(100'000, 'x'), std::string(100'000, '\x01'), std::string(100'000, '\xFF'),
        std::string(3000, 'x'), std::string(3000, '\x02')}) {
    Caller caller = caller_named(text);
    caller.identity->serial = text;
    caller.address = text;
    runtime.name = text;
    runtime.id = text;
    AuditEntry entry{"command", caller};
    entry.runtime = std::make_shared<const Runtime>(runtime);
    entry.command = text;
    entry.rule = text;
    entry.role = text;
    entry.arguments = json{{"path", text}}.dump(-1, ' ', true, json::error_handler_t::replace);
    entry.allowed = true;
    entry.outcome = {Outcome::Kind::broken_off, text};
    const std::string line = line_of(entry);
    CHECK(line.size() <= 8192);
    CHECK(json::parse(line)["arguments"].contains("cut"));
  }
}

TEST_CASE("a long argument alone is cut, and marked", "[router]") {
  const Caller caller = caller_named("alice");
  AuditEntry entry{"command", caller};
  entry.arguments = json{{"variable", std::string(65'000, 'V')}}.dump();
  const json line = json::parse(line_of(entry));
  CHECK(line["identity"] == "CN=alice");
  CHECK(line["arguments"]["cut"].get<std::string>().starts_with("{\"variable\":\"VVV"));
  CHECK(line["arguments"]["cut"].get<std::string>().size() == 4096);
}
