// What kubectl says of pods and workloads, as JSON.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

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

}  // namespace farport::router
