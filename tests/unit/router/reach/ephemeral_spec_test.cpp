#include <catch2/catch.hpp>

#include "router/reach/container.hpp"
#include "router/reach/pods.hpp"

namespace farport::router {
namespace {

using Json = nlohmann::json;

/// A pod as its API has it, with a container "web" of that security context, and the pod's.
std::string pod_with(const Json& container, const Json& pod = Json::object()) {
  return Json{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", {{"name", "orders-1"}, {"namespace", "prod"}, {"uid", "u"}, {"resourceVersion", "7"}}},
      {"spec",
       {{"securityContext", pod},
        {"containers",
         {{{"name", "log"}, {"securityContext", {{"runAsUser", 9}}}},
          {{"name", "web"}, {"image", "orders"}, {"securityContext", container}}}},
        {"ephemeralContainers", {{{"name", "before"}, {"image", "busybox"}}}}}}}
      .dump();
}

Json added_to(const std::string& pod, const NumericUser& user, EphemeralForm form = EphemeralForm::pod) {
  const auto body =
      with_ephemeral(pod, form, {"farport-1", "farport:0.1.0", "web", user, {"farport", "stdio"}});
  REQUIRE(body);
  return Json::parse(*body);
}

Json security_of(const Json& container_context, const NumericUser& user, const Json& pod = Json::object()) {
  return added_to(pod_with(container_context, pod),
                  user)["spec"]["ephemeralContainers"][1]["securityContext"];
}

/// What Pod Security's standard "restricted" asks of a container, beside what it asks of a pod's volumes and
/// host namespaces (https://kubernetes.io/docs/concepts/security/pod-security-standards/).
void check_restricted(const Json& security, const Json& pod_security) {
  CHECK(security["allowPrivilegeEscalation"] == false);
  CHECK(security["runAsNonRoot"] == true);
  CHECK(security["runAsUser"] != 0);
  CHECK(security["capabilities"] == Json{{"drop", {"ALL"}}});
  CHECK_FALSE(security.contains("privileged"));
  CHECK_FALSE(security.contains("procMount"));
  // An own one wins, else the pod's holds.
  const Json profile = security.value("seccompProfile", pod_security.value("seccompProfile", Json()));
  CHECK((profile["type"] == "RuntimeDefault" || profile["type"] == "Localhost"));
}

TEST_CASE("a helper in a pod is let in where its target is: Pod Security's standard restricted") {
  const Json profile = {{"type", "RuntimeDefault"}};
  const Json of_pod = {{"runAsNonRoot", true}, {"runAsUser", 1654}, {"seccompProfile", profile}};
  check_restricted(security_of({{"allowPrivilegeEscalation", false}}, {"1654", "1654"}, of_pod), of_pod);
  // All of it in the container.
  const Json of_container = {{"runAsNonRoot", true}, {"runAsUser", 2000}, {"seccompProfile", profile}};
  check_restricted(security_of(of_container, {"2000", ""}), Json::object());
}

TEST_CASE("a helper in a pod has the user of its target, and no more rights") {
  const Json security = security_of({{"capabilities", {{"add", {"NET_BIND_SERVICE"}}}}}, {"3000", "3001"});
  CHECK(security["runAsUser"] == 3000);
  CHECK(security["runAsGroup"] == 3001);
  CHECK(security["capabilities"] == Json{{"drop", {"ALL"}}});
  // Root's processes take as many capabilities as they have.
  const Json root = security_of({{"capabilities", {{"drop", {"NET_RAW"}}}}}, {"0", "0"});
  CHECK(root["capabilities"] == Json{{"drop", {"NET_RAW"}}});
  CHECK_FALSE(root.contains("runAsNonRoot"));
  CHECK_FALSE(root.contains("privileged"));
  CHECK(security_of({{"privileged", true}}, {"0", "0"})["capabilities"] == Json{{"add", {"ALL"}}});
  CHECK_FALSE(security_of(Json::object(), {"0", "0"}).contains("capabilities"));
  // Another profile would keep it from looking.
  const Json labels = {{"level", "s0:c1,c2"}};
  CHECK(security_of({{"seLinuxOptions", labels}}, {"1", "1"})["seLinuxOptions"] == labels);
}

TEST_CASE("a pod gets one more ephemeral container, in the form that its API server speaks") {
  const std::string pod = pod_with(Json::object());
  const Json newer = added_to(pod, {"1654", "1654"});
  CHECK(newer["kind"] == "Pod");
  CHECK(newer["metadata"]["resourceVersion"] == "7");
  CHECK(newer["spec"]["containers"].size() == 2);
  REQUIRE(newer["spec"]["ephemeralContainers"].size() == 2);
  const Json& added = newer["spec"]["ephemeralContainers"][1];
  CHECK(added["targetContainerName"] == "web");
  CHECK(added["command"] == Json{"farport", "stdio"});
  const Json older = added_to(pod, {"1654", "1654"}, EphemeralForm::list);
  CHECK(older["kind"] == "EphemeralContainers");
  CHECK(older["metadata"]["name"] == "orders-1");
  REQUIRE(older["ephemeralContainers"].size() == 2);
  CHECK(older["ephemeralContainers"][0]["name"] == "before");
  // It would be refused.
  CHECK_FALSE(older["ephemeralContainers"][1].contains("securityContext"));
  CHECK(ephemeral_path(pod) == "/api/v1/namespaces/prod/pods/orders-1/ephemeralcontainers");
}

TEST_CASE("what is no pod, or has no such container, gets none") {
  const EphemeralSpec added{"farport-1", "i", "web", {"1654", "1654"}, {}};
  for (const char* pod : {"", "5", "[]", "{}", R"({"metadata": {"name": "x"}})",
                          R"({"metadata": {"name": "x"}, "spec": {"containers": "web"}})"}) {
    CHECK_FALSE(with_ephemeral(pod, EphemeralForm::pod, added));
  }
  CHECK_FALSE(ephemeral_path("5"));
}

TEST_CASE("an API server's version tells the form") {
  CHECK(ephemeral_form(R"({"major": "1", "minor": "20"})") == EphemeralForm::list);
  CHECK(ephemeral_form(R"({"major": "1", "minor": "21+"})") == EphemeralForm::list);
  CHECK(ephemeral_form(R"({"major": "1", "minor": "22"})") == EphemeralForm::pod);
  CHECK(ephemeral_form(R"({"major": "1", "minor": "36+"})") == EphemeralForm::pod);
  CHECK_FALSE(ephemeral_form(R"({"minor": ""})"));
  CHECK_FALSE(ephemeral_form(R"({"minor": "99999999999999999999"})"));
  CHECK_FALSE(ephemeral_form("Forbidden"));
}

TEST_CASE("whose processes a pod's are") {
  CHECK(user_in_pod(pod_with({{"runAsUser", 3000}}, {{"runAsUser", 1}, {"runAsGroup", 2}}), "web") ==
        NumericUser{"3000", "2"});
  CHECK(user_in_pod(pod_with(Json::object(), {{"runAsUser", 1}}), "web") == NumericUser{"1", ""});
  CHECK_FALSE(user_in_pod(pod_with(Json::object()), "web"));
  CHECK(user_in_pod(R"({"spec": {"initContainers": [{"name": "s", "securityContext": {"runAsUser": 7}}]}})",
                    "s") == NumericUser{"7", ""});
  CHECK_FALSE(user_in_pod(pod_with({{"runAsUser", -5}}), "web"));
  CHECK_FALSE(user_in_pod("", "web"));
  CHECK(user_in_status("Name:\tcat\nUid:\t2000\t2000\t2000\t2000\nGid:\t0\t0\t0\t0\n") ==
        NumericUser{"2000", "0"});
  CHECK_FALSE(user_in_status("sh: cat: not found"));
  CHECK_FALSE(user_in_status("Name:\tx\nUid:\troot\nGid:\t0\t"));
}

}  // namespace
}  // namespace farport::router
