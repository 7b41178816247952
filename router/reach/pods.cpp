#include "router/reach/pods.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "router/reach/json.hpp"

namespace farport::router {
namespace {

using Json = nlohmann::json;

/// That the node could not start it then, as when it is busy. Everything else is its image or specification.
constexpr std::string_view kNotStarted = "RunContainerError";
constexpr const char* kDefaultContainer = "kubectl.kubernetes.io/default-container";

/// What the kubelet says of the container; null where it has not said anything yet.
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
  // What does not come by waiting. The kubelet starts an ephemeral container once, so one that could not be
  // started never runs.
  const bool failed = waits.starts_with("Err") || waits.ends_with("Error") || waits.ends_with("BackOff") ||
                      waits.starts_with("Invalid");
  if (!failed) return container;
  const std::string more = string_of(member(waiting, "message"));
  container.ended = more.empty() ? waits : fmt::format("{}: {}", waits, more);
  container.startable = waits == kNotStarted;
  return container;
}

/// The phase of a pod, and what the scheduler or the kubelet says of it (core/v1 PodStatus).
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

/// At the earliest: the first probe comes just when it stops answering (core/v1 Probe, with its defaults).
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

/// A requirement of a label selector (meta/v1 LabelSelectorRequirement) in kubectl's words; empty where it is
/// none.
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
  // A name becomes a word for kubectl.
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
      // Leaving one out would select more than the workload does.
      if (one.empty())
        return fail("read", "the workload's selector", "it has a requirement of an unknown kind");
      add(text, one);
    }
  }
  if (text.empty()) return fail("read", "the workload's selector", "it selects no pods by labels");
  return text;
}

}  // namespace farport::router
