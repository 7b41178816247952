// Parsing what kubectl prints about pods and workloads, and the ephemeral container that is added to a pod.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "router/reach/container.hpp"
#include "router/reach/deploy.hpp"
#include "router/reach/reach.hpp"

namespace farport::router {

/// An ephemeral container and its status (core/v1 EphemeralContainer and ContainerStatus).
struct EphemeralContainer {
  std::string name;
  std::string image{};   ///< As requested; the status has the node's name for it.
  std::string target{};  ///< The container whose processes it sees.
  bool running = false;
  std::string ended{};    ///< Why it has ended or can't start; empty: it runs or may still start.
  bool startable = true;  ///< If it ended: another one like it might start.
};

struct Pod {
  std::string name;
  bool running = false;             ///< And is not being deleted.
  std::string why_not{};            ///< If it does not run: "Pending: 0/1 nodes are available".
  std::string version{};            ///< The resource version, which changes with every change.
  std::string default_container{};  ///< Used by kubectl if none is named.
  std::vector<EphemeralContainer> ephemeral{};
  std::map<std::string, ContainerRun> runs{};  ///< By container.
  /// How soon a container with a liveness probe is restarted after it stops answering, by container.
  std::map<std::string, std::chrono::seconds> restarted_after{};
};

/// Parses `kubectl get pod … -o json`: one pod or a list. Fails on anything else.
[[nodiscard]] Result<std::vector<Pod>> parse_pods(std::string_view json);

/// The label selector of a workload (deployment, statefulset …), in the form of kubectl's --selector. Fails
/// if it has none or the JSON is something else.
[[nodiscard]] Result<std::string> parse_selector(std::string_view json);

struct KubernetesTarget {
  std::string context;     ///< Empty: kubectl's current one.
  std::string namespace_;  ///< Empty: the context's.
  std::string
      kind;  ///< "pod", "deployment", "statefulset", "daemonset", "replicaset", "job"; empty: by labels.
  std::string name;
  std::string labels;     ///< A label selector: "app=orders".
  std::string container;  ///< Empty: kubectl's choice.
  bool operator==(const KubernetesTarget&) const = default;
};

/// Parses the text after k8s://: "[CONTEXT@][NAMESPACE/][KIND/]NAME[/CONTAINER]" or
/// "[CONTEXT@][NAMESPACE/]?LABELS". A word that kubectl knows as a kind is taken as one. Fails on any other
/// form, and on what kubectl might take for an option.
[[nodiscard]] Result<KubernetesTarget> parse_kubernetes_target(std::string_view text);

/// The user that a pod's specification gives a container; empty if it gives none. Then the image's user
/// applies, which the API does not tell.
[[nodiscard]] std::optional<NumericUser> user_in_pod(std::string_view pod_json, std::string_view container);

/// The user of a process from its /proc/PID/status (proc(5)); empty if the text is something else.
[[nodiscard]] std::optional<NumericUser> user_in_status(std::string_view status);

/// The ephemeral container to be added (Kubernetes API v1, EphemeralContainer and SecurityContext).
struct EphemeralSpec {
  std::string name;
  std::string image;
  std::string target;  ///< The container whose processes it sees.
  NumericUser user;    ///< The target's: a runtime answers no other user.
  std::vector<std::string> command;
};

/// The form of pods/ephemeralcontainers that an API server accepts.
enum class EphemeralForm : std::uint8_t {
  list,  ///< Up to 1.21: kind EphemeralContainers, without security contexts.
  pod,   ///< From 1.22 on: the Pod itself.
};

/// Derived from the answer at /version. Fails if that is something else.
[[nodiscard]] Result<EphemeralForm> ephemeral_form(std::string_view version_json);

/// The pod with one more ephemeral container, as the body for pods/ephemeralcontainers. The container may do
/// no more than its target, so that it is admitted wherever its target is, whatever Pod Security requires: it
/// has no capability and can gain none, unless the target is root. Fails if the JSON is no pod or has no such
/// container.
[[nodiscard]] Result<std::string> with_ephemeral(std::string_view pod_json, EphemeralForm form,
                                                 const EphemeralSpec& added);

/// The path of that subresource of the pod. Fails if the JSON is no pod.
[[nodiscard]] Result<std::string> ephemeral_path(std::string_view pod_json);

/// A target that is reached by the user's own kubectl.
/// `target`: the text after "k8s://". Fails if it is malformed.
[[nodiscard]] Result<std::shared_ptr<const ReachTarget>> kubernetes_target(std::string text,
                                                                           std::string_view target,
                                                                           Deploy deploy);

}  // namespace farport::router
