// A diagnostic port that can't be opened, of this very process.
#pragma once

#include <string>

#include <unistd.h>

#include "router/agent/runtimes/registry.hpp"

namespace farport::router {

class ClosedPort final : public DiagnosticPort {
 public:
  transport::Task<Connection> open() override { co_return fail("open", "it", "this is a test"); }
  [[nodiscard]] transport::PeerCredentials process() const override { return {::getpid(), 0, 0}; }
  [[nodiscard]] const std::string& path() const override { return path_; }

 private:
  std::string path_ = "/tmp/port";
};

}  // namespace farport::router
