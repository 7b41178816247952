#include "router/reach/pods.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "router/reach/command.hpp"
#include "router/reach/container.hpp"
#include "router/reach/deploy.hpp"
#include "router/reach/stdio_command.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using Json = nlohmann::json;

/// The reason for a container that the node failed to start, as when it is busy. Other reasons concern its
/// image or specification.
constexpr std::string_view kNotStarted = "RunContainerError";
constexpr const char* kDefaultContainer = "kubectl.kubernetes.io/default-container";

/// The kubelet's status of the container; null if there is none yet.
Json status_of(const Json& statuses, const std::string& name) {
  for (const Json& each : elements(statuses)) {
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
  for (const Json& each : elements(member(status, "conditions"))) {
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

/// core/v1 ContainerStatus.
ContainerRun run_of(const Json& status) {
  const Json& state = member(status, "state");
  ContainerRun run{string_of(member(status, "containerID")), member(state, "running").is_object(), {}};
  const Json& now = member(state, "terminated");
  const Json& ended = now.is_object() ? now : member(member(status, "lastState"), "terminated");
  const Json& code = member(ended, "exitCode");
  if (code.is_number_integer())
    run.ended = end_of_container(code.get<std::int64_t>(), string_of(member(ended, "reason")) == "OOMKilled");
  return run;
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
  const Json& spec = member(object, "spec");
  const Json& containers = elements(member(spec, "containers"));
  if (pod.default_container.empty() && !containers.empty()) {
    pod.default_container = string_of(member(containers.front(), "name"));
  }
  for (const Json& each : containers) {
    const Json& probe = member(each, "livenessProbe");
    if (probe.is_object()) pod.restarted_after[string_of(member(each, "name"))] = restarted_after(probe);
  }
  for (const Json& each : elements(member(status, "containerStatuses")))
    pod.runs[string_of(member(each, "name"))] = run_of(each);
  const Json& statuses = member(status, "ephemeralContainerStatuses");
  for (const Json& each : elements(member(spec, "ephemeralContainers"))) {
    pod.ephemeral.push_back(ephemeral_of(each, statuses));
  }
  return pod;
}

/// A label selector's requirement (meta/v1 LabelSelectorRequirement) in kubectl's syntax; empty if it is
/// malformed.
std::string requirement(const Json& expression) {
  std::string key = string_of(member(expression, "key"));
  const std::string how = string_of(member(expression, "operator"));
  std::string values;
  for (const Json& value : elements(member(expression, "values")))
    values += (values.empty() ? "" : ",") + string_of(value);
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
  for (const Json& expression : elements(member(selector, "matchExpressions"))) {
    const std::string one = requirement(expression);
    // Leaving one out would select more pods than the workload does.
    if (one.empty())
      return fail("read", "the workload's selector", "it has a requirement of an unknown kind");
    add(text, one);
  }
  if (text.empty()) return fail("read", "the workload's selector", "it selects no pods by labels");
  return text;
}

namespace {

struct ResourceKind {
  std::string_view abbreviation;
  std::string_view name;
};
constexpr std::array kKinds{ResourceKind{"po", "pod"},          ResourceKind{"deploy", "deployment"},
                            ResourceKind{"sts", "statefulset"}, ResourceKind{"ds", "daemonset"},
                            ResourceKind{"rs", "replicaset"},   ResourceKind{"job", "job"}};

/// The kind by its name, singular or plural, or by its abbreviation, as kubectl takes it; empty: none.
std::string_view kind_of(std::string_view word) {
  for (const auto& [abbreviation, name] : kKinds) {
    const bool plural = word.ends_with('s') && word.substr(0, word.size() - 1) == name;
    if (word == abbreviation || word == name || plural) return name;
  }
  return {};
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
    for (const Json& each : elements(member(member(pod, "spec"), kind))) {
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
  ASSIGN_OR_RETURN(auto pod, parse_pod(pod_json));
  const Json& target = container_of(pod, added.target);
  if (target.is_null()) {
    return fail(
        "find", added.target,
        fmt::format("pod {} has no such container", string_of(member(member(pod, "metadata"), "name"))));
  }
  Json all = member(member(pod, "spec"), "ephemeralContainers");
  if (!all.is_array()) all = Json::array();
  Json one = {{"name", added.name},
              {"image", added.image},
              {"targetContainerName", added.target},
              {"command", added.command}};
  if (form == EphemeralForm::pod) one["securityContext"] = security_like(target, added.user);
  all.push_back(std::move(one));
  if (form == EphemeralForm::pod) {
    pod["spec"]["ephemeralContainers"] = std::move(all);
    return text_of(pod);
  }
  const Json list = {{"apiVersion", "v1"},
                     {"kind", "EphemeralContainers"},
                     {"metadata", member(pod, "metadata")},
                     {"ephemeralContainers", std::move(all)}};
  return text_of(list);
}

Result<std::string> ephemeral_path(std::string_view pod_json) {
  ASSIGN_OR_RETURN(const auto pod, parse_pod(pod_json));
  const Json& metadata = member(pod, "metadata");
  return fmt::format("/api/v1/namespaces/{}/pods/{}/ephemeralcontainers",
                     string_of(member(metadata, "namespace")), string_of(member(metadata, "name")));
}

namespace {

using transport::Task;
using Arguments = std::vector<std::string>;

/// How often and how long to ask whether an ephemeral container runs, since its image may have to be pulled.
/// After kPrompt the user is told.
constexpr transport::Milliseconds kLookAgain{500};
constexpr transport::Milliseconds kPrompt{10'000};
constexpr transport::Milliseconds kStartLimit{120'000};
constexpr std::string_view kHelperPrefix = "farport-";
/// Most helpers that are tried until one answers.
constexpr int kMaxTries = 4;
/// Most ended helpers in a pod: their entries stay for as long as the pod lives.
constexpr std::ptrdiff_t kMaxEnded = 10;
/// Time limit for a command in the target container.
constexpr transport::Milliseconds kLookIntoLimit{5000};
/// User "app" in Microsoft's .NET images, and its group.
constexpr const char* kUserOfImages = "1654";

/// What the API server says if a node's kubelet does not answer.
constexpr std::string_view kNodeAway = "error dialing backend";

/// A hint for an error text of the API server, the node or kubectl. The first that fits is used.
struct ErrorHint {
  std::string_view said;
  std::string_view hint;
};
constexpr std::array kCures{
    ErrorHint{"violates PodSecurity", "the namespace asks for more than its own pod has: use --deploy copy"},
    ErrorHint{
        "resource \"pods/ephemeralcontainers\"",
        "ask for the role farport-deploy (examples/kubernetes/people), or leave --image out: a copy takes "
        "pods/exec alone"},
    ErrorHint{"(Forbidden)",
              "ask the namespace's administrator for the role farport-deploy (examples/kubernetes/people)"},
    ErrorHint{"ephemeral containers are disabled", "leave --image out: a copy needs none"},
    ErrorHint{"context \"", "kubectl config get-contexts shows those that there are"},
    ErrorHint{"must be logged in", "log in as you do for kubectl: kubectl get pods shows whether it works"},
    ErrorHint{"Unable to connect", "does kubectl get pods work?"},
    ErrorHint{"was refused", "does kubectl get pods work?"},
    ErrorHint{kNodeAway, "its node does not answer the API server: is it Ready (kubectl get nodes)?"}};

/// Adds a hint to the error, if it has none.
tl::unexpected<Error> with_cure(Error why) {
  const auto found = std::find_if(kCures.begin(), kCures.end(), [&](const ErrorHint& cure) {
    return why.why.find(cure.said) != std::string::npos;
  });
  if (why.hint.empty() && found != kCures.end()) why.hint = found->hint;
  return tl::unexpected(std::move(why));
}

/// A kubectl command with the target's context and namespace, then `words`. Not by braced lists, which GCC 12
/// destroys twice in coroutines.
template <typename... Words>
Arguments kubectl(const KubernetesTarget& target, const Words&... words) {
  Arguments all(1, "kubectl");
  if (!target.context.empty()) all.push_back("--context=" + target.context);
  if (!target.namespace_.empty()) all.push_back("--namespace=" + target.namespace_);
  (all.emplace_back(words), ...);
  return all;
}

/// The target's text for one of its pods.
std::string way_of(const KubernetesTarget& target, const std::string& pod) {
  return "k8s://" + (target.context.empty() ? "" : target.context + "@") +
         (target.namespace_.empty() ? "" : target.namespace_ + "/") + pod +
         (target.container.empty() ? "" : "/" + target.container);
}

class PodReach final : public Reach {
 public:
  PodReach(KubernetesTarget target, std::string pod, Deploy deploy)
      : Reach(way_of(target, pod)),
        target_(std::move(target)),
        pod_(std::move(pod)),
        deploy_(std::move(deploy)) {}

  [[nodiscard]] Task<Result<Reached>> open(transport::Loop& loop, Log log) const override {
    const bool helps = deploy_.way == Deploy::Way::ephemeral ||
                       (deploy_.way == Deploy::Way::automatic && !deploy_.image.empty());
    Task<Result<Reached>> way =
        helps ? open_ephemeral(loop, std::move(log)) : open_inside(loop, std::move(log));
    auto reached = co_await std::move(way);
    if (!reached) co_return with_cure(reached.error());
    co_return reached;
  }

  [[nodiscard]] Task<std::optional<Restart>> restart(transport::Loop& loop) const override {
    const auto pod = co_await look(loop);
    if (!pod) co_return std::nullopt;
    const std::string container = container_in(*pod);
    const auto probed = pod->restarted_after.find(container);
    if (probed == pod->restarted_after.end()) co_return std::nullopt;
    co_return Restart{probed->second, "the liveness probe of " + container};
  }

  [[nodiscard]] Task<std::optional<ContainerRun>> container_run(transport::Loop& loop) const override {
    const auto pod = co_await look(loop);
    if (!pod) co_return std::nullopt;
    const auto run = pod->runs.find(container_in(*pod));
    if (run == pod->runs.end()) co_return std::nullopt;
    co_return run->second;
  }

 private:
  [[nodiscard]] std::string container_in(const Pod& pod) const {
    return target_.container.empty() ? pod.default_container : target_.container;
  }

  /// Reaches farport in the container itself.
  Task<Result<Reached>> open_inside(transport::Loop& loop, Log log) const {
    StdioCommand what{text(), kubectl(target_, "exec", "--stdin", pod_), nullptr, deploy_.announce};
    if (!target_.container.empty()) what.arguments.push_back("--container=" + target_.container);
    what.arguments.emplace_back("--");
    if (deploy_.way == Deploy::Way::never) {
      what.arguments.emplace_back("farport");
      what.arguments.emplace_back("stdio");
    } else {
      CO_ASSIGN_OR_RETURN(auto program, co_await deploy_.program->load(loop));
      what.program = std::move(program);
      what.without_shell =
          "give --image IMAGE, one with farport in its PATH that the cluster can pull: it runs beside it";
      what.arguments.emplace_back("sh");
      what.arguments.emplace_back("-c");
      what.arguments.push_back(deploy_script(*what.program, deploy_, deploy_.way != Deploy::Way::copy));
    }
    auto reached = co_await open_stdio(loop, std::move(log), std::move(what));
    co_return reached;
  }

  /// Reaches an ephemeral container that shares the target's pid namespace. The kubelet's status may be
  /// outdated, so a helper counts only if it answers; if none does, another one is added.
  Task<Result<Reached>> open_ephemeral(transport::Loop& loop, Log log) const {
    Result<Reached> reached = fail("reach", text(), "no helper container answers");
    std::vector<std::string> silent;
    for (int tries = 0; tries < kMaxTries; ++tries) {
      CO_ASSIGN_OR_RETURN(const auto helper, co_await choose(loop, silent));
      CO_ASSIGN_OR_RETURN(const auto container, co_await await_start(loop, helper));
      if (container.running) {
        StdioCommand what{text(), kubectl(target_, "exec", "--stdin", pod_, "--container=" + helper, "--",
                                          "farport", "stdio", "--join", kHelperSocket)};
        what.patience = kHelperPatience;
        reached = co_await open_stdio(loop, log, std::move(what));
      } else {
        reached = fail(
            "start a container in", text(), container.ended,
            container.startable ? std::string() : fmt::format("can the cluster pull {}?", deploy_.image));
      }
      if (reached || !container.startable) co_return reached;
      // The helper may be fine, and another one could not be started on this node.
      if (reached.error().why.find(kNodeAway) != std::string::npos) co_return reached;
      silent.push_back(helper);
    }
    co_return reached;
  }

  /// The last of our ephemeral containers for this image and container that may run and is not in `silent`;
  /// else a new name. Concurrent commands choose the same one.
  Task<Result<std::string>> choose(transport::Loop& loop, std::vector<std::string> silent) const {
    CO_ASSIGN_OR_RETURN(const auto pod, co_await look(loop));
    if (!pod.running) co_return fail("reach", text(), "the pod does not run: " + pod.why_not);
    const std::string container = container_in(pod);
    std::ptrdiff_t ended = 0;
    std::size_t ours = 0;
    std::string found;
    for (const EphemeralContainer& each : pod.ephemeral) {
      if (!each.name.starts_with(kHelperPrefix)) continue;
      ++ours;
      const bool silent_one = std::find(silent.begin(), silent.end(), each.name) != silent.end();
      if (!each.ended.empty() || silent_one) {
        ++ended;
      } else if (each.image == deploy_.image && each.target == container) {
        found = each.name;
      }
    }
    if (!found.empty()) co_return found;
    if (ended >= kMaxEnded) {
      co_return fail("reach", text(),
                     fmt::format("{} ephemeral containers of ours have ended in this pod, and their entries "
                                 "stay for as long as it lives",
                                 ended),
                     "use --deploy copy, or replace the pod");
    }
    found = fmt::format("{}{}", kHelperPrefix, ours + 1);
    CO_RETURN_IF_ERROR(co_await add(loop, container, found));
    co_return found;
  }

  /// Adds a helper of that name, unless another command was quicker. If the pod has changed meanwhile, the
  /// API server refuses, and this retries with the newer pod.
  Task<Result<void>> add(transport::Loop& loop, std::string container, std::string helper) const {
    EphemeralSpec spec{std::move(helper), deploy_.image, std::move(container), {}, {}};
    spec.command.emplace_back("farport");
    append_helper_words(spec.command, deploy_.linger);
    const auto version = co_await capture(loop, kubectl(target_, "get", "--raw", "/version"));
    if (!version) co_return cannot_reach(text(), version.error());
    const auto form = ephemeral_form(*version);
    if (!form) co_return cannot_reach(text(), form.error());
    Error refused;
    std::string refused_version;
    for (int tries = 0; tries < kMaxTries; ++tries) {
      CO_ASSIGN_OR_RETURN(const auto told, co_await look_at_pod(loop));
      CO_ASSIGN_OR_RETURN(const auto pod, the_pod(told));
      if (pod.version == refused_version) break;
      const bool known = std::any_of(pod.ephemeral.begin(), pod.ephemeral.end(),
                                     [&](const EphemeralContainer& each) { return each.name == spec.name; });
      if (known) co_return Result<void>();
      if (spec.user.user.empty()) {
        spec.user = co_await user_of(loop, told, spec.target);
        announce(spec, *form);
      }
      const auto added = co_await put(loop, told, *form, spec);
      if (added) co_return Result<void>();
      refused = added.error();
      refused_version = pod.version;
    }
    co_return cannot_reach(text(), std::move(refused));
  }

  void announce(const EphemeralSpec& added, EphemeralForm form) const {
    const std::string user = form == EphemeralForm::pod
                                 ? "user " + added.user.user
                                 : fmt::format(
                                       "the pod's user or the image's: before Kubernetes 1.22 it "
                                       "can't be given that of {}, {}",
                                       added.target, added.user.user);
    deploy_.announce(fmt::format(
        "{}: adds an ephemeral container (image {}, {}) that sees the processes of {}; it exits {:g} s after "
        "its last session, its entry stays in the pod",
        text(), added.image, user, added.target, std::chrono::duration<double>(deploy_.linger).count()));
  }

  /// The user that the container runs as: from the pod, or else read from inside the container, since the
  /// kernel compares the group too. If nothing can be run inside, the image has no shell, and most of these
  /// are Microsoft's.
  Task<NumericUser> user_of(transport::Loop& loop, std::string pod_json, std::string container) const {
    NumericUser user = user_in_pod(pod_json, container).value_or(NumericUser{kUserOfImages, {}});
    if (!user.group.empty()) co_return user;
    // A frozen container starts no process.
    const auto status = co_await with_deadline(
        loop,
        capture(loop,
                kubectl(target_, "exec", pod_, "--container=" + container, "--", "cat", "/proc/self/status")),
        kLookIntoLimit);
    if (user.user == kUserOfImages) user.group = kUserOfImages;
    if (status && *status) user = user_in_status(**status).value_or(user);
    co_return user;
  }

  /// Uses kubectl replace, which sends any JSON: kubectl debug does not support all fields.
  Task<Result<void>> put(transport::Loop& loop, std::string pod_json, EphemeralForm form,
                         EphemeralSpec added) const {
    CO_ASSIGN_OR_RETURN(const auto path, ephemeral_path(pod_json));
    CO_ASSIGN_OR_RETURN(const auto body, with_ephemeral(pod_json, form, added));
    const auto bytes = std::as_bytes(std::span(body));
    const auto input = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    CO_RETURN_IF_ERROR(
        co_await capture(loop, kubectl(target_, "replace", "--raw", path, "--filename=-"), input));
    co_return Result<void>();
  }

  /// Waits until the container runs, has ended, or can't be started. Fails if none of these is reported in
  /// time.
  Task<Result<EphemeralContainer>> await_start(transport::Loop& loop, std::string helper) const {
    const std::uint64_t begun = loop.now_ms();
    const auto takes_longer_than = [&](transport::Milliseconds limit) {
      return loop.now_ms() - begun >= static_cast<std::uint64_t>(limit.count());
    };
    for (bool told = false; !takes_longer_than(kStartLimit);) {
      CO_ASSIGN_OR_RETURN(const auto now, co_await look(loop));
      for (const EphemeralContainer& each : now.ephemeral) {
        if (each.name == helper && (each.running || !each.ended.empty())) co_return each;
      }
      if (!told && takes_longer_than(kPrompt)) {
        told = true;
        deploy_.announce(
            fmt::format("{}: its node has not started the container for {} s; waiting for up to {} s", text(),
                        kPrompt.count() / 1000, kStartLimit.count() / 1000));
      }
      co_await transport::sleep(loop, kLookAgain);
    }
    co_return fail(
        "start a container in", text(),
        fmt::format("its node has not started it within {} s", kStartLimit.count() / 1000),
        "kubectl describe pod " + pod_ + " has its events, kubectl get nodes says whether the node is well");
  }

  Task<Result<Pod>> look(transport::Loop& loop) const {
    CO_ASSIGN_OR_RETURN(const auto told, co_await look_at_pod(loop));
    co_return the_pod(told);
  }

  /// The pod as JSON.
  Task<Result<std::string>> look_at_pod(transport::Loop& loop) const {
    auto told = co_await capture(loop, kubectl(target_, "get", "pod", pod_, "--output=json"));
    if (!told) co_return cannot_reach(text(), told.error());
    co_return told;
  }

  [[nodiscard]] Result<Pod> the_pod(const std::string& json) const {
    ASSIGN_OR_RETURN(auto pods, parse_pods(json));
    if (pods.empty()) return fail("reach", text(), "there is no such pod");
    return std::move(pods.front());
  }

  KubernetesTarget target_;
  std::string pod_;
  Deploy deploy_;
};

/// The pods of a workload, or those with certain labels.
class Pods final : public ReachTarget {
 public:
  Pods(std::string text, KubernetesTarget target, Deploy deploy)
      : ReachTarget(std::move(text)), target_(std::move(target)), deploy_(std::move(deploy)) {}

  [[nodiscard]] bool changes() const override { return true; }

  [[nodiscard]] Task<Result<Ways>> find(transport::Loop& loop) const override {
    auto found = co_await find_running(loop);
    if (!found) co_return with_cure(found.error());
    co_return found;
  }

 private:
  Task<Result<Ways>> find_running(transport::Loop& loop) const {
    std::string labels = target_.labels;
    if (labels.empty()) {
      const auto workload =
          co_await capture(loop, kubectl(target_, "get", target_.kind, target_.name, "--output=json"));
      if (!workload) co_return cannot_reach(text(), workload.error());
      auto selector = parse_selector(*workload);
      if (!selector) co_return cannot_reach(text(), selector.error());
      labels = std::move(*selector);
    }
    const auto told =
        co_await capture(loop, kubectl(target_, "get", "pods", "--selector=" + labels, "--output=json"));
    if (!told) co_return cannot_reach(text(), told.error());
    const auto pods = parse_pods(*told);
    if (!pods) co_return cannot_reach(text(), pods.error());
    Ways ways;
    for (const Pod& pod : *pods) {
      if (pod.running) ways.push_back(std::make_shared<PodReach>(target_, pod.name, deploy_));
    }
    co_return ways;
  }

  KubernetesTarget target_;
  Deploy deploy_;
};

}  // namespace

Result<std::shared_ptr<const ReachTarget>> kubernetes_target(std::string text, std::string_view target,
                                                             Deploy deploy) {
  ASSIGN_OR_RETURN(auto parsed, parse_kubernetes_target(target));
  if (deploy.way == Deploy::Way::ephemeral && deploy.image.empty()) {
    return fail("reach", text, "an ephemeral container needs an image that the cluster can pull",
                "give --image IMAGE, one with farport in its PATH");
  }
  if (parsed.kind == "pod") {
    const std::string pod = parsed.name;
    return std::make_shared<PodReach>(std::move(parsed), pod, std::move(deploy));
  }
  return std::make_shared<Pods>(std::move(text), std::move(parsed), std::move(deploy));
}

}  // namespace farport::router
