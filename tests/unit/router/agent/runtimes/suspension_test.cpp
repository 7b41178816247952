// What suspends a runtime, as its environment says it.
#include <catch2/catch.hpp>

#include "router/agent/runtimes/probe.hpp"

using farport::router::count_suspending_ports;
using farport::router::has_arguments;

namespace {

int count(std::vector<std::string> environment) {
  return count_suspending_ports(environment);
}

}  // namespace

TEST_CASE("a port suspends unless it says otherwise") {
  CHECK(count({}) == 0);
  CHECK(count({"PATH=/bin", "DOTNET_DiagnosticPorts="}) == 0);
  CHECK(count({"DOTNET_DiagnosticPorts=/diag/farport.sock"}) == 1);
  CHECK(count({"DOTNET_DiagnosticPorts=/diag/farport.sock,connect"}) == 1);
  CHECK(count({"DOTNET_DiagnosticPorts=/diag/farport.sock,listen"}) == 1);
  CHECK(count({"DOTNET_DiagnosticPorts=/diag/farport.sock,suspend"}) == 1);
  CHECK(count({"DOTNET_DiagnosticPorts=/diag/farport.sock,nosuspend"}) == 0);
  CHECK(count({"DOTNET_DiagnosticPorts=/diag/farport.sock,connect,NoSuspend"}) == 0);
  CHECK(count({"DOTNET_DiagnosticPorts=/diag/farport.sock,nosuspend,connect"}) == 0);
}

TEST_CASE("of contradictory words the first counts, and unknown ones don't") {
  CHECK(count({"DOTNET_DiagnosticPorts=/a,suspend,nosuspend"}) == 1);
  CHECK(count({"DOTNET_DiagnosticPorts=/a,nosuspend,suspend"}) == 0);
  CHECK(count({"DOTNET_DiagnosticPorts=/a,no suspend"}) == 1);
  CHECK(count({"DOTNET_DiagnosticPorts=/a,nosuspended"}) == 1);
}

TEST_CASE("each of several ports counts") {
  CHECK(count({"DOTNET_DiagnosticPorts=/a;/b,nosuspend;/c,suspend"}) == 2);
  CHECK(count({"DOTNET_DiagnosticPorts=;;/a;,;"}) == 1);
  CHECK(count({"DOTNET_DiagnosticPorts=/a", "DOTNET_DefaultDiagnosticPortSuspend=1"}) == 2);
}

TEST_CASE("the default port suspends when it is told to") {
  CHECK(count({"DOTNET_DefaultDiagnosticPortSuspend=1"}) == 1);
  CHECK(count({"DOTNET_DefaultDiagnosticPortSuspend=0x1"}) == 1);
  CHECK(count({"DOTNET_DefaultDiagnosticPortSuspend=a"}) == 1);
  CHECK(count({"DOTNET_DefaultDiagnosticPortSuspend=0"}) == 0);
  CHECK(count({"DOTNET_DefaultDiagnosticPortSuspend=yes"}) == 0);
}

TEST_CASE("the older names count where the newer ones are not set") {
  CHECK(count({"COMPlus_DiagnosticPorts=/a"}) == 1);
  CHECK(count({"COMPlus_DefaultDiagnosticPortSuspend=1"}) == 1);
  CHECK(count({"COMPlus_DiagnosticPorts=/a", "DOTNET_DiagnosticPorts=/a,nosuspend"}) == 0);
}

TEST_CASE("names that only look alike don't count") {
  CHECK(count({"dotnet_DiagnosticPorts=/a", "DOTNET_DiagnosticPort=/a", "XDOTNET_DiagnosticPorts=/a",
               "DOTNET_DiagnosticPortsX=/a", "DOTNET_DiagnosticPorts"}) == 0);
}

TEST_CASE("arguments are what follows the first word, which may be quoted") {
  CHECK_FALSE(has_arguments(""));
  CHECK_FALSE(has_arguments("/app/orders"));
  CHECK_FALSE(has_arguments("\"/my app/orders\""));
  CHECK_FALSE(has_arguments("\"/my app/orders"));
  CHECK(has_arguments("/app/orders /app/orders.dll"));
  CHECK(has_arguments("\"/my app/orders\" /my app/orders.dll"));
}
