// The ephemeral container that a pod gets from us, as the API server takes it (Kubernetes API v1, Pod,
// EphemeralContainer and SecurityContext).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "router/reach/inspected_container.hpp"

namespace farport::router {

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
