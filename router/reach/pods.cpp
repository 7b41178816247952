#include "router/reach/pods.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "router/reach/container.hpp"

namespace farport::router {
namespace {

using Json = nlohmann::json;

/// The reason for a container that the node failed to start, as when it is busy. Other reasons concern its
/// image or specification.
constexpr std::string_view kNotStarted = "RunContainerError";
constexpr const char* kDefaultContainer = "kubectl.kubernetes.io/default-container";

/// The kubelet's status of the container; null if there is none yet.
Json status_of(const Json& statuses, const std::string& name) {
  if (!statuses.is_array()) return {};
  for (const Json& each : statuses) {
    if (string_of(member(each, "name")) == name) return each;
  }
  return {};
}

EphemeralContainer ephemeral_of(const Json& asked, const Json& statuses) {
  EphemeralContainer container{string_of(member(asked, "name")), string_of(member(asked, "image")),
                               string_of(member(asked, "targetContainerName"))};
  const Json status = status_of(statuses, container.name);
  const Json& state = member(status, "state");
  container.running = member(state, "running").is_object();
  const Json& ended = member(state, "terminated");
  if (ended.is_object()) container.ended = string_of(member(ended, "reason"));
  const Json& waiting = member(state, "waiting");
  const std::string waits = string_of(member(waiting, "reason"));
  // Reasons that waiting does not cure. The kubelet starts an ephemeral container once, so one that failed to
  // start never runs.
  const bool failed = waits.starts_with("Err") || waits.ends_with("Error") || waits.ends_with("BackOff") ||
                      waits.starts_with("Invalid");
  if (!failed) return container;
  const std::string more = string_of(member(waiting, "message"));
  container.ended = more.empty() ? waits : fmt::format("{}: {}", waits, more);
  container.startable = waits == kNotStarted;
  return container;
}

/// The pod's phase, with the message of the scheduler or the kubelet (core/v1 PodStatus).
std::string why_not_running(const Json& status) {
  std::string why = string_of(member(status, "phase"));
  const Json& conditions = member(status, "conditions");
  if (!conditions.is_array()) return why;
  for (const Json& each : conditions) {
    const std::string message = string_of(member(each, "message"));
    if (!message.empty()) return why + ": " + message;
  }
  return why;
}

std::chrono::seconds seconds_of(const Json& value, unsigned otherwise) {
  return std::chrono::seconds(value.is_number_unsigned() ? value.get<std::uint32_t>() : otherwise);
}

/// The shortest time until an unresponsive container is restarted, if the first probe comes just then
/// (core/v1 Probe, with its defaults).
std::chrono::seconds restarted_after(const Json& probe) {
  const auto period = seconds_of(member(probe, "periodSeconds"), 10);
  const auto timeout = seconds_of(member(probe, "timeoutSeconds"), 1);
  const auto failures = seconds_of(member(probe, "failureThreshold"), 3).count();
  return period * std::max<std::int64_t>(failures - 1, 0) + timeout;
}

Pod pod_of(const Json& object) {
  const Json& metadata = member(object, "metadata");
  const Json& status = member(object, "status");
  Pod pod{string_of(member(metadata, "name"))};
  pod.running =
      string_of(member(status, "phase")) == "Running" && member(metadata, "deletionTimestamp").is_null();
  if (!pod.running) pod.why_not = why_not_running(status);
  pod.version = string_of(member(metadata, "resourceVersion"));
  pod.default_container = string_of(member(member(metadata, "annotations"), kDefaultContainer));
  const Json& containers = member(member(object, "spec"), "containers");
  if (pod.default_container.empty() && containers.is_array() && !containers.empty()) {
    pod.default_container = string_of(member(containers.front(), "name"));
  }
  if (containers.is_array()) {
    for (const Json& each : containers) {
      const Json& probe = member(each, "livenessProbe");
      if (probe.is_object()) pod.restarted_after[string_of(member(each, "name"))] = restarted_after(probe);
    }
  }
  const Json& ephemeral = member(member(object, "spec"), "ephemeralContainers");
  const Json& statuses = member(status, "ephemeralContainerStatuses");
  if (ephemeral.is_array()) {
    for (const Json& each : ephemeral) pod.ephemeral.push_back(ephemeral_of(each, statuses));
  }
  return pod;
}

/// A label selector's requirement (meta/v1 LabelSelectorRequirement) in kubectl's syntax; empty if it is
/// malformed.
std::string requirement(const Json& expression) {
  std::string key = string_of(member(expression, "key"));
  const std::string how = string_of(member(expression, "operator"));
  std::string values;
  const Json& list = member(expression, "values");
  if (list.is_array()) {
    for (const Json& value : list) values += (values.empty() ? "" : ",") + string_of(value);
  }
  if (key.empty()) return {};
  if (how == "In") return fmt::format("{} in ({})", key, values);
  if (how == "NotIn") return fmt::format("{} notin ({})", key, values);
  if (how == "Exists") return key;
  return how == "DoesNotExist" ? "!" + key : std::string();
}

void add(std::string& selector, const std::string& more) {
  selector += (selector.empty() ? "" : ",") + more;
}

}  // namespace

Result<std::vector<Pod>> parse_pods(std::string_view json) {
  const Json parsed = Json::parse(json, nullptr, false);
  if (!parsed.is_object()) return fail("read", "kubectl's list of pods", "it is no JSON object");
  std::vector<Pod> pods;
  const Json& items = member(parsed, "items");
  if (!items.is_array()) {
    pods.push_back(pod_of(parsed));
  } else {
    for (const Json& item : items) pods.push_back(pod_of(item));
  }
  // Names become arguments of kubectl, so they must not look like options.
  std::erase_if(pods, [](const Pod& pod) { return pod.name.empty() || pod.name.front() == '-'; });
  return pods;
}

Result<std::string> parse_selector(std::string_view json) {
  const Json parsed = Json::parse(json, nullptr, false);
  const Json& selector = member(member(parsed, "spec"), "selector");
  std::string text;
  const Json& labels = member(selector, "matchLabels");
  if (labels.is_object()) {
    for (const auto& [key, value] : labels.items()) add(text, key + "=" + string_of(value));
  }
  const Json& expressions = member(selector, "matchExpressions");
  if (expressions.is_array()) {
    for (const Json& expression : expressions) {
      const std::string one = requirement(expression);
      // Leaving one out would select more pods than the workload does.
      if (one.empty())
        return fail("read", "the workload's selector", "it has a requirement of an unknown kind");
      add(text, one);
    }
  }
  if (text.empty()) return fail("read", "the workload's selector", "it selects no pods by labels");
  return text;
}

namespace {

struct Kind {
  std::string_view word;
  std::string_view kind;
};
/// The names and abbreviations that kubectl accepts.
constexpr std::array kKinds{
    Kind{"po", "pod"},
    Kind{"pod", "pod"},
    Kind{"pods", "pod"},
    Kind{"deploy", "deployment"},
    Kind{"deployment", "deployment"},
    Kind{"deployments", "deployment"},
    Kind{"sts", "statefulset"},
    Kind{"statefulset", "statefulset"},
    Kind{"statefulsets", "statefulset"},
    Kind{"ds", "daemonset"},
    Kind{"daemonset", "daemonset"},
    Kind{"daemonsets", "daemonset"},
    Kind{"rs", "replicaset"},
    Kind{"replicaset", "replicaset"},
    Kind{"replicasets", "replicaset"},
    Kind{"job", "job"},
    Kind{"jobs", "job"},
};

std::string_view kind_of(std::string_view word) {
  const auto* const found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.word == word; });
  return found == kKinds.end() ? std::string_view() : found->kind;
}

/// Whether the text is a DNS subdomain (RFC 1123), as names in Kubernetes are.
bool is_object_name(std::string_view text) {
  const auto is_alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 253 && is_alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; });
}

/// Whether the text has only characters of selectors: "app=orders,tier in (web,api)", "!canary".
bool is_selector(std::string_view text) {
  return !text.empty() && text.front() != '-' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=!,() ") ==
             std::string_view::npos;
}

std::vector<std::string> split_at_slashes(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t slash = 0; slash != std::string_view::npos;) {
    slash = text.find('/');
    words.emplace_back(text.substr(0, slash));
    if (slash != std::string_view::npos) text.remove_prefix(slash + 1);
  }
  return words;
}

}  // namespace

Result<KubernetesTarget> parse_kubernetes_target(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail("reach", std::string("k8s://").append(text), why,
                "write k8s://POD, k8s://deploy/NAME, k8s://NAMESPACE/deploy/NAME/CONTAINER or "
                "k8s://NAMESPACE/?app=NAME");
  };
  KubernetesTarget target;
  std::string_view rest = text;
  if (const std::size_t question = rest.find('?'); question != std::string_view::npos) {
    target.labels = rest.substr(question + 1);
    rest = rest.substr(0, question);
    if (!is_selector(target.labels)) return bad("that is no selector of labels");
  }
  // A context may itself contain @ and slashes.
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    target.context = rest.substr(0, at);
    rest = rest.substr(at + 1);
    if (target.context.empty()) return bad("the context before the @ is empty");
  }
  std::vector<std::string> words = split_at_slashes(rest);
  if (!target.labels.empty()) {
    // The part after the last slash belongs to the question mark.
    words.pop_back();
    if (!rest.empty() && !rest.ends_with('/')) return bad("a slash belongs before the ?");
    if (words.size() > 1) return bad("it has too many parts");
    if (!words.empty()) target.namespace_ = words.front();
    return words.empty() || is_object_name(words.front()) ? Result<KubernetesTarget>(target)
                                                          : bad("that is no namespace");
  }
  if (!std::all_of(words.begin(), words.end(), is_object_name))
    return bad("one of its parts is no name in Kubernetes");
  // A word that is a kind shows that the namespace is omitted.
  const bool has_namespace = words.size() > 1 && kind_of(words[0]).empty();
  std::size_t next = 0;
  if (has_namespace) target.namespace_ = words[next++];
  target.kind = "pod";
  if (words.size() > next + 1 && !kind_of(words[next]).empty()) target.kind = kind_of(words[next++]);
  target.name = words[next++];
  if (next < words.size()) target.container = words[next++];
  if (next < words.size()) return bad("it has too many parts");
  return target;
}

namespace {

using Json = nlohmann::json;

/// Kubernetes' text is UTF-8, but what a person types may not be.
std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The minor version of Kubernetes 1 from which pods/ephemeralcontainers is a Pod.
constexpr unsigned long kPodFrom = 22;

std::string number_of(const Json& value) {
  return value.is_number_unsigned() ? std::to_string(value.get<std::uint64_t>()) : std::string();
}

/// A setting of the container's security context, or else of the pod's.
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

/// The helper needs the target's capabilities to read its processes (ptrace(2), "Ptrace access mode
/// checking"). In Kubernetes only root's capabilities become effective.
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
  // Settings of the pod apply to the helper by themselves, those of the container don't. A process under one
  // profile can't look into a process under another.
  for (const char* name : {"seccompProfile", "seLinuxOptions", "appArmorProfile"}) {
    const Json& own = member(context, name);
    if (own.is_object()) security[name] = own;
  }
  Json capabilities = capabilities_like(context, user);
  if (capabilities.is_object()) security["capabilities"] = std::move(capabilities);
  return security;
}

/// The first number after `key`.
std::string status_number(std::string_view status, std::string_view key) {
  const std::size_t found = status.find(key);
  if (found == std::string_view::npos) return {};
  status.remove_prefix(found + key.size());
  const std::string_view number = status.substr(0, status.find_first_of("\t\n"));
  return all_digits(number) ? std::string(number) : std::string();
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
  // Some providers append a plus.
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
