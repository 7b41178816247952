// What kubectl says of pods and workloads, as JSON.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "router/reach/container.hpp"

namespace farport::router {

/// An ephemeral container (core/v1 EphemeralContainer and ContainerStatus), as far as it has come.
struct EphemeralContainer {
  std::string name;
  std::string image{};   ///< As it was asked for: the node's name for it, in the status, is another one.
  std::string target{};  ///< The container whose processes it sees.
  bool running = false;
  std::string ended{};    ///< Why it does not run any more, or can't; empty: it may come yet.
  bool startable = true;  ///< Another one like it might come where it can't.
};

struct Pod {
  std::string name;
  bool running = false;             ///< And is not being deleted.
  std::string why_not{};            ///< Where it does not run: "Pending: 0/1 nodes are available".
  std::string version{};            ///< Changes with whatever changes in it.
  std::string default_container{};  ///< What kubectl takes where none is named.
  std::vector<EphemeralContainer> ephemeral{};
  /// Containers with a liveness probe: how soon one is restarted that has stopped answering.
  std::map<std::string, std::chrono::seconds> restarted_after{};
};

/// Of `kubectl get pod … -o json`: one pod, or a list. Errors: it is something else.
[[nodiscard]] Result<std::vector<Pod>> parse_pods(std::string_view json);

/// The labels that a workload (deployment, statefulset …) selects its pods by, as kubectl's --selector takes
/// them. Errors: it selects by none, or is something else.
[[nodiscard]] Result<std::string> parse_selector(std::string_view json);

struct KubernetesTarget {
  std::string context;     ///< Empty: kubectl's current one.
  std::string namespace_;  ///< Empty: the context's.
  std::string
      kind;  ///< "pod", "deployment", "statefulset", "daemonset", "replicaset", "job"; empty: by labels.
  std::string name;
  std::string labels;     ///< A selector: "app=orders".
  std::string container;  ///< Empty: kubectl's choice.
  bool operator==(const KubernetesTarget&) const = default;
};

/// What k8s://… names.
/// "[CONTEXT@][NAMESPACE/][KIND/]NAME[/CONTAINER]" or "[CONTEXT@][NAMESPACE/]?LABELS". A word that is a kind
/// of kubectl's is taken for one. Errors: it is something else, or might be an option to kubectl.
[[nodiscard]] Result<KubernetesTarget> parse_kubernetes_target(std::string_view text);

// The ephemeral container that a pod gets from us, as the API server takes it (Kubernetes API v1, Pod,
// EphemeralContainer and SecurityContext).

/// The user of a container: the one its pod's specification names for it. Without one it is the image's,
/// which the API does not tell.
[[nodiscard]] std::optional<NumericUser> user_in_pod(std::string_view pod_json, std::string_view container);

/// The user of a process, by its /proc/PID/status (proc(5)); nothing where that is something else.
[[nodiscard]] std::optional<NumericUser> user_in_status(std::string_view status);

struct EphemeralSpec {
  std::string name;
  std::string image;
  std::string target;  ///< The container whose processes it sees.
  NumericUser user;    ///< That one's: a runtime answers no other.
  std::vector<std::string> command;
};

/// What an API server speaks at pods/ephemeralcontainers.
enum class EphemeralForm : std::uint8_t {
  list,  ///< Up to 1.21: an object of kind EphemeralContainers, which take no security context of their own.
  pod,   ///< From 1.22 on: the pod itself.
};

/// By what it says at /version. Errors: it says something else.
[[nodiscard]] Result<EphemeralForm> ephemeral_form(std::string_view version_json);

/// The pod with one more ephemeral container, to be put to pods/ephemeralcontainers. It may do no more than
/// its target, so that it is let into each namespace that lets its target in, whatever Pod Security asks for
/// there: it has no capability and can gain none, unless the target is root. Errors: the pod is none, or has
/// no such container.
[[nodiscard]] Result<std::string> with_ephemeral(std::string_view pod_json, EphemeralForm form,
                                                 const EphemeralSpec& added);

/// Where it is put: the path of the pod's subresource. Errors: the pod is none.
[[nodiscard]] Result<std::string> ephemeral_path(std::string_view pod_json);

}  // namespace farport::router
