#include "router/agent/gate/own_caller.hpp"

#include <unistd.h>

namespace farport::router {
namespace {

auth::PolicyRules rules_for(const std::string& acting_for) {
  auth::Grant all{acting_for, {}, "admin", {}};
  all.identity.local = {std::to_string(::geteuid())};
  return {{}, {all}, {}};
}

}  // namespace

OwnCaller::OwnCaller(const std::string& acting_for)
    : policy_(auth::Policy::make(rules_for(acting_for)).value()),
      caller_{acting_for, auth::identity_of(::geteuid()), {}, acting_for} {
  caller_.access = policy_.access_of(*caller_.identity);
}

}  // namespace farport::router
