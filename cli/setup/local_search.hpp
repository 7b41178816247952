// A search for runtimes on this host, as the agent would search, for a moment.
#pragma once

#include "config/settings.hpp"
#include "router/agent/runtimes/discovery.hpp"

namespace farport::cli {

class LocalSearch {
 public:
  explicit LocalSearch(const config::ServeSettings& settings);
  LocalSearch(const LocalSearch&) = delete;
  LocalSearch& operator=(const LocalSearch&) = delete;

  /// Searches for two seconds. What has been found stays for as long as this lives.
  transport::Task<void> run();

  [[nodiscard]] router::Registry& registry() { return registry_; }
  [[nodiscard]] const router::Discovery& discovery() const { return discovery_; }
  [[nodiscard]] transport::Loop& loop() { return loop_; }

 private:
  transport::Loop loop_;
  router::Registry registry_;
  router::Discovery discovery_;
};

}  // namespace farport::cli
