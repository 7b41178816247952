#include "router/agent/gate/caller.hpp"

namespace farport::router {

bool Caller::sees(const Runtime& runtime) const {
  return access && access->sees(traits_of(runtime));
}

std::string describe(const Caller& caller) {
  return (caller.identity ? auth::describe(*caller.identity) : "an unknown caller") + " from " +
         caller.address;
}

std::string refusal(const Caller& caller) {
  return (caller.identity ? auth::describe(*caller.identity) : "an unknown caller") +
         " has no role at this agent; give it one there with --allow-cn, --allow-dns, --allow-uri or "
         "[[grants]]";
}

auth::RuntimeTraits traits_of(const Runtime& runtime) {
  const std::uint64_t pid = runtime.kernel_pid != 0 ? runtime.kernel_pid : runtime.pid;
  return {runtime.name, runtime.command_line, pid, runtime.user};
}

}  // namespace farport::router
