#include "router/reach/ephemeral_spec.hpp"

#include <fmt/format.h>

#include "router/reach/json.hpp"

namespace farport::router {
namespace {

using Json = nlohmann::json;

/// Kubernetes' text is UTF-8; what a person types need not be.
std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Of Kubernetes 1: the first whose pods/ephemeralcontainers is a pod.
constexpr unsigned long kPodFrom = 22;

std::string number_of(const Json& value) {
  return value.is_number_unsigned() ? std::to_string(value.get<std::uint64_t>()) : std::string();
}

/// What a security context of a container says, else the pod's.
const Json& setting(const Json& pod, const Json& container, const char* name) {
  const Json& own = member(member(container, "securityContext"), name);
  return own.is_null() ? member(member(member(pod, "spec"), "securityContext"), name) : own;
}

const Json& container_of(const Json& pod, std::string_view name) {
  static const Json nothing;
  // A native sidecar is an init container.
  for (const char* kind : {"containers", "initContainers"}) {
    const Json& all = member(member(pod, "spec"), kind);
    if (!all.is_array()) continue;
    for (const Json& each : all) {
      if (string_of(member(each, "name")) == name) return each;
    }
  }
  return nothing;
}

/// Reading another process takes as many capabilities as it has (ptrace(2), "Ptrace access mode checking").
/// Of those that Kubernetes gives, only root's become effective.
Json capabilities_like(const Json& context, const NumericUser& user) {
  if (!user.is_root()) return {{"drop", Json::array({"ALL"})}};
  if (member(context, "privileged") == true) return {{"add", Json::array({"ALL"})}};
  return member(context, "capabilities");
}

Json security_like(const Json& container, const NumericUser& user) {
  const Json& context = member(container, "securityContext");
  Json security = {{"runAsUser", Json::parse(user.user)}};
  if (!user.group.empty()) security["runAsGroup"] = Json::parse(user.group);
  if (!user.is_root()) {
    security["runAsNonRoot"] = true;
    security["allowPrivilegeEscalation"] = false;
  }
  // What the pod has of these holds for it, too; what only the container has, does not by itself. One profile
  // lets nobody look into a process of another.
  for (const char* name : {"seccompProfile", "seLinuxOptions", "appArmorProfile"}) {
    const Json& own = member(context, name);
    if (own.is_object()) security[name] = own;
  }
  Json capabilities = capabilities_like(context, user);
  if (capabilities.is_object()) security["capabilities"] = std::move(capabilities);
  return security;
}

/// The first of the numbers behind `key`.
std::string status_number(std::string_view status, std::string_view key) {
  const std::size_t found = status.find(key);
  if (found == std::string_view::npos) return {};
  status.remove_prefix(found + key.size());
  const std::string_view number = status.substr(0, status.find_first_of("\t\n"));
  return is_number(number) ? std::string(number) : std::string();
}

Result<Json> parse_pod(std::string_view pod_json) {
  Json pod = Json::parse(pod_json, nullptr, false);
  if (string_of(member(member(pod, "metadata"), "name")).empty()) {
    return fail("read", "what kubectl says of the pod", "it has no name");
  }
  return pod;
}

}  // namespace

std::optional<NumericUser> user_in_pod(std::string_view pod_json, std::string_view container) {
  const Json pod = Json::parse(pod_json, nullptr, false);
  const Json& target = container_of(pod, container);
  NumericUser user{number_of(setting(pod, target, "runAsUser")),
                   number_of(setting(pod, target, "runAsGroup"))};
  if (user.user.empty()) return std::nullopt;
  return user;
}

std::optional<NumericUser> user_in_status(std::string_view status) {
  NumericUser user{status_number(status, "\nUid:\t"), status_number(status, "\nGid:\t")};
  if (user.user.empty() || user.group.empty()) return std::nullopt;
  return user;
}

Result<EphemeralForm> ephemeral_form(std::string_view version_json) {
  const Json version = Json::parse(version_json, nullptr, false);
  const std::string minor = string_of(member(version, "minor"));
  // Some providers add a plus.
  const std::string digits = minor.substr(0, minor.find_first_not_of("0123456789"));
  if (digits.empty() || digits.size() > 4) {
    return fail("read", "the API server's version", "it is not one of Kubernetes");
  }
  return std::stoul(digits) < kPodFrom ? EphemeralForm::list : EphemeralForm::pod;
}

Result<std::string> with_ephemeral(std::string_view pod_json, EphemeralForm form,
                                   const EphemeralSpec& added) {
  auto pod = parse_pod(pod_json);
  if (!pod) return tl::unexpected(pod.error());
  const Json& target = container_of(*pod, added.target);
  if (target.is_null()) {
    return fail(
        "find", added.target,
        fmt::format("pod {} has no such container", string_of(member(member(*pod, "metadata"), "name"))));
  }
  Json all = member(member(*pod, "spec"), "ephemeralContainers");
  if (!all.is_array()) all = Json::array();
  Json one = {{"name", added.name},
              {"image", added.image},
              {"targetContainerName", added.target},
              {"command", added.command}};
  if (form == EphemeralForm::pod) one["securityContext"] = security_like(target, added.user);
  all.push_back(std::move(one));
  if (form == EphemeralForm::pod) {
    (*pod)["spec"]["ephemeralContainers"] = std::move(all);
    return text_of(*pod);
  }
  const Json list = {{"apiVersion", "v1"},
                     {"kind", "EphemeralContainers"},
                     {"metadata", member(*pod, "metadata")},
                     {"ephemeralContainers", std::move(all)}};
  return text_of(list);
}

Result<std::string> ephemeral_path(std::string_view pod_json) {
  const auto pod = parse_pod(pod_json);
  if (!pod) return tl::unexpected(pod.error());
  const Json& metadata = member(*pod, "metadata");
  return fmt::format("/api/v1/namespaces/{}/pods/{}/ephemeralcontainers",
                     string_of(member(metadata, "namespace")), string_of(member(metadata, "name")));
}

}  // namespace farport::router
