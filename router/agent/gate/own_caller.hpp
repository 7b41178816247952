// OwnCaller: the agent itself as a caller of its API, for what its operator has configured.
#pragma once

#include <string>

#include "auth/policy.hpp"
#include "router/agent/gate/gate.hpp"

namespace farport::router {

/// It may do everything, and the audit names what it acts for.
class OwnCaller {
 public:
  /// `acting_for`: "egress bucket".
  explicit OwnCaller(const std::string& acting_for);
  OwnCaller(const OwnCaller&) = delete;
  OwnCaller& operator=(const OwnCaller&) = delete;

  [[nodiscard]] const Caller& caller() const { return caller_; }

 private:
  auth::Policy policy_;
  Caller caller_;
};

}  // namespace farport::router
