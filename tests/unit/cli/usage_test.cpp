#include "cli/options/usage.hpp"

#include <catch2/catch.hpp>

#include "cli/commands/can_i.hpp"
#include "cli/options/options.hpp"

using namespace farport::cli;
using farport::router::AccessRow;

namespace {

const std::vector<std::string> kCommands{"serve", "connect", "run", "ps"};

std::string hint_for(const std::vector<std::string>& words) {
  const auto misplaced = find_misplaced(words, kCommands);
  return misplaced ? misplaced->hint : "";
}

AccessRow row(const char* command, const char* runtime, bool allowed) {
  AccessRow made;
  made.command = command;
  made.runtime = runtime;
  made.allowed = allowed;
  made.why = allowed ? "" : std::string(command) + " needs another role";
  return made;
}

}  // namespace

TEST_CASE("a tool of run without the -- before it is given one") {
  CHECK(hint_for({"run", "dotnet-trace", "ps"}) == "write farport run -- dotnet-trace ps");
  CHECK(hint_for({"run", "orders:9000", "--select", "x", "/opt/dotnet-trace", "collect", "-p", "1"}) ==
        "write farport run orders:9000 --select x -- /opt/dotnet-trace collect -p 1");
  CHECK(hint_for({"run", "orders:9000", "sh"}) == "write farport run [AGENT ...] -- TOOL [ARGUMENT ...]");
  CHECK(hint_for({"run", "orders:9000", "--", "sh"}).empty());
  CHECK(hint_for({"run", "--help"}).empty());
}

TEST_CASE("options before the command are put behind it") {
  CHECK(hint_for({"--tls-ca", "x", "ps", "orders:9000"}) == "write farport ps --tls-ca x orders:9000");
  CHECK(hint_for({"ps", "--tls-ca", "x"}).empty());
  CHECK(hint_for({"--version"}).empty());
  CHECK(hint_for({"--tls-ca", "x"}).empty());
  CHECK(hint_for({}).empty());
}

TEST_CASE("help is an option too") {
  CHECK(with_help_option({"help"}) == std::vector<std::string>{"--help"});
  CHECK(with_help_option({"help", "ps"}) == std::vector<std::string>{"ps", "--help"});
  CHECK(with_help_option({"ps", "help"}) == std::vector<std::string>{"ps", "help"});
}

TEST_CASE("what people want to do is allowed where each command for it is") {
  std::vector<AccessRow> commands;
  for (const char* command : {"CollectTracing2", "CollectTracing4", "StopTracing", "ResumeRuntime"}) {
    commands.push_back(row(command, "orders", true));
    commands.push_back(row(command, "billing", std::string_view(command) != "StopTracing"));
  }
  commands.push_back(row("GenerateCoreDump3", "orders", false));
  const auto rows = abilities_of(commands);
  REQUIRE(rows.size() == 11);
  CHECK(rows[0].command == "trace (dotnet-trace)");
  CHECK(rows[0].runtime == "orders");
  CHECK(rows[0].allowed);
  CHECK(rows[1].runtime == "billing");
  CHECK_FALSE(rows[1].allowed);
  CHECK(rows[1].why == "StopTracing needs another role");
  // This takes no StopTracing.
  CHECK(rows[9].command == "see what happened before (farport recent)");
  CHECK(rows[9].allowed);
  CHECK(rows[10].command == "dump (dotnet-dump, farport dump)");
  CHECK_FALSE(rows[10].allowed);
}
