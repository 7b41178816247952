// What k8s://… names.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace farport::router {

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

/// "[CONTEXT@][NAMESPACE/][KIND/]NAME[/CONTAINER]" or "[CONTEXT@][NAMESPACE/]?LABELS". A word that is a kind
/// of kubectl's is taken for one. Errors: it is something else, or might be an option to kubectl.
[[nodiscard]] Result<KubernetesTarget> parse_kubernetes_target(std::string_view text);

}  // namespace farport::router
