#include <catch2/catch.hpp>

#include "router/reach/container.hpp"
#include "router/reach/named_reach.hpp"
#include "router/reach/pods.hpp"

namespace farport::router {
namespace {

TEST_CASE("ssh is told user, host and port as it takes them") {
  CHECK(parse_ssh_target("web-3") == SshTarget{"web-3", ""});
  CHECK(parse_ssh_target("ops@web-3:2222") == SshTarget{"ops@web-3", "2222"});
  CHECK(parse_ssh_target("[fe80::1%eth0]:22") == SshTarget{"fe80::1%eth0", "22"});
  CHECK(parse_ssh_target("root@[::1]") == SshTarget{"root@::1", ""});
}

TEST_CASE("k8s targets in the forms that kubectl's users expect") {
  using Target = KubernetesTarget;
  CHECK(parse_kubernetes_target("orders-1") == Target{"", "", "pod", "orders-1", "", ""});
  CHECK(parse_kubernetes_target("prod/orders-1") == Target{"", "prod", "pod", "orders-1", "", ""});
  CHECK(parse_kubernetes_target("prod/orders-1/web") == Target{"", "prod", "pod", "orders-1", "", "web"});
  CHECK(parse_kubernetes_target("deploy/orders") == Target{"", "", "deployment", "orders", "", ""});
  CHECK(parse_kubernetes_target("sts/db/main") == Target{"", "", "statefulset", "db", "", "main"});
  CHECK(parse_kubernetes_target("prod/ds/agent") == Target{"", "prod", "daemonset", "agent", "", ""});
  CHECK(parse_kubernetes_target("a@b/c@prod/pod/x/y") == Target{"a@b/c", "prod", "pod", "x", "", "y"});
  CHECK(parse_kubernetes_target("prod/?app=orders,tier!=db") ==
        Target{"", "prod", "", "", "app=orders,tier!=db", ""});
  CHECK(parse_kubernetes_target("?app=orders") == Target{"", "", "", "", "app=orders", ""});
  // A pod may have a kind's name.
  CHECK(parse_kubernetes_target("deploy") == Target{"", "", "pod", "deploy", "", ""});
}

TEST_CASE("pods as kubectl lists them") {
  const auto pods = parse_pods(R"({"items": [
    {"metadata": {"name": "a"}, "status": {"phase": "Running"}, "spec": {"containers": [
      {"name": "web", "livenessProbe": {"httpGet": {}}}, {"name": "app"},
      {"name": "log", "livenessProbe": {"periodSeconds": 3, "failureThreshold": 2, "timeoutSeconds": 2}}]}},
    {"metadata": {"name": "b", "deletionTimestamp": "now"}, "status": {"phase": "Running"}},
    {"metadata": {"name": "c", "annotations": {"kubectl.kubernetes.io/default-container": "log"}},
     "spec": {"ephemeralContainers": [{"name": "farport-1", "image": "i", "targetContainerName": "log"},
       {"name": "farport-2", "image": "i"}, {"name": "farport-3", "image": "i"}, {"name": "farport-4"},
       {"name": "farport-5"}]},
     "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "message": "no node has room"}], "ephemeralContainerStatuses": [
       {"name": "farport-2", "image": "docker.io/library/i",
        "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}},
       {"name": "farport-1", "image": "docker.io/library/i", "state": {"running": {}}},
       {"name": "farport-5", "state": {"waiting": {"reason": "RunContainerError"}}},
       {"name": "farport-3", "state": {"waiting": {"reason": "ContainerCreating"}}}]}},
    {"metadata": {"name": "-n"}}, 5]})");
  REQUIRE(pods.has_value());
  REQUIRE(pods->size() == 3);
  CHECK((*pods)[0].running);
  CHECK((*pods)[0].default_container == "web");
  CHECK_FALSE((*pods)[1].running);
  CHECK((*pods)[2].why_not == "Pending: no node has room");
  CHECK((*pods)[2].default_container == "log");
  REQUIRE((*pods)[2].ephemeral.size() == 5);
  // Ten seconds twice, and one for the last answer: what Kubernetes takes where nothing is said.
  CHECK((*pods)[0].restarted_after.at("web").count() == 21);
  CHECK((*pods)[0].restarted_after.at("log").count() == 5);
  CHECK((*pods)[2].restarted_after.empty());
  CHECK((*pods)[2].ephemeral[0].running);
  CHECK((*pods)[2].ephemeral[0].target == "log");
  // As it was asked for, not as the node calls it.
  CHECK((*pods)[2].ephemeral[0].image == "i");
  CHECK((*pods)[2].ephemeral[1].ended == "ErrImagePull: not found");
  // Another one would have the same image.
  CHECK_FALSE((*pods)[2].ephemeral[1].startable);
  CHECK((*pods)[2].ephemeral[4].startable);
  CHECK((*pods)[2].ephemeral[2].ended.empty());
  CHECK_FALSE((*pods)[2].ephemeral[3].running);
  CHECK((*pods)[2].ephemeral[4].ended == "RunContainerError");
  CHECK_FALSE(parse_pods("Error from server").has_value());
}

TEST_CASE("a workload's selector in kubectl's words") {
  CHECK(parse_selector(R"({"spec": {"selector": {"matchLabels": {"app": "orders"}, "matchExpressions": [
    {"key": "tier", "operator": "In", "values": ["web", "api"]}, {"key": "canary", "operator": "DoesNotExist"}]}}})") ==
        "app=orders,tier in (web,api),!canary");
  // Less would be more pods.
  CHECK_FALSE(parse_selector(R"({"spec": {"selector": {"matchLabels": {"app": "orders"}, "matchExpressions": [
    {"key": "tier", "operator": "Gt", "values": ["1"]}]}}})")
                  .has_value());
  CHECK_FALSE(parse_selector(R"({"spec": {"selector": {}}})").has_value());
}

TEST_CASE("how the containers of a pod stand") {
  const auto pods = parse_pods(R"({"metadata": {"name": "a"}, "status": {"containerStatuses": [
    {"name": "web", "containerID": "x://1", "state": {"running": {}}},
    {"name": "killed", "containerID": "x://2", "state": {"running": {}},
     "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
    {"name": "waits", "containerID": "x://3", "state": {"waiting": {}},
     "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}},
    {"name": "over", "state": {"terminated": {"exitCode": 0}}, "lastState": {"terminated": {"exitCode": 5}}}, 7]}})");
  REQUIRE(pods.has_value());
  const auto& runs = pods->front().runs;
  CHECK(runs.at("web") == ContainerRun{"x://1", true, ""});
  CHECK(runs.at("killed") == ContainerRun{"x://2", true, "exit code 137, out of memory"});
  CHECK(runs.at("waits") == ContainerRun{"x://3", false, "exit code 1"});
  CHECK(runs.at("over") == ContainerRun{"", false, "exit code 0"});
}

TEST_CASE("what engines say of a container") {
  const auto container =
      parse_inspected(R"([{"Id": "0a1b", "State": {"Running": true}, "Config": {"User": "app"},
    "HostConfig": {"CapAdd": ["CAP_SYS_PTRACE", "--privileged"], "CapDrop": null}}])");
  REQUIRE(container.has_value());
  CHECK(container->running);
  CHECK(container->user == "app");
  CHECK(container->added_capabilities == std::vector<std::string>{"CAP_SYS_PTRACE"});
  CHECK(container->run == ContainerRun{"", true, ""});
  const auto ended = parse_inspected(
      R"([{"Id": "0a1b", "State": {"Running": false, "StartedAt": "then", "ExitCode": 137, "OOMKilled": true}}])");
  REQUIRE(ended.has_value());
  CHECK(ended->run == ContainerRun{"then", false, "exit code 137, out of memory"});
  CHECK_FALSE(parse_inspected("[]").has_value());
  CHECK_FALSE(parse_inspected(R"([{"Id": "--rm"}])").has_value());
}

TEST_CASE("a container's user by number") {
  constexpr auto passwd = "root:x:0:0::/:\napp:x:1654:1655::/:/bin/sh\nbroken\n";
  constexpr auto group = "staff:x:50:\n";
  const auto user = [&](const char* text) {
    return numeric_user(text, passwd, group).value_or(NumericUser{});
  };
  CHECK(user("") == NumericUser{"0", "0"});
  CHECK(user("1000:1001") == NumericUser{"1000", "1001"});
  CHECK(user("app") == NumericUser{"1654", "1655"});
  CHECK(user("1654") == NumericUser{"1654", "1655"});
  CHECK(user("app:staff") == NumericUser{"1654", "50"});
  CHECK(user("7") == NumericUser{"7", "0"});
  CHECK(user("nobody") == NumericUser{});
  CHECK(user("app:nobody") == NumericUser{});
  CHECK(needs_passwd("app"));
  CHECK(needs_passwd("1654"));
  CHECK_FALSE(needs_passwd("1654:0"));
}

TEST_CASE("a container that says that its user is root gets no helper of root's") {
  const auto user = numeric_user("app", "root:x:0:0::/:\napp:x:00:0::/:\n", "");
  REQUIRE_FALSE(user);
  CHECK_THAT(user.error().why, Catch::Contains("says that this user is root"));
  CHECK(numeric_user("root", "root:x:0:0::/:\n", "") == NumericUser{"0", "0"});
}

}  // namespace
}  // namespace farport::router
