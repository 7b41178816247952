// LocalSearch: a short search for runtimes on this host, as an agent would search.
#pragma once

#include "config/settings.hpp"
#include "router/agent/runtimes/discovery.hpp"

namespace farport::cli {

class LocalSearch {
 public:
  explicit LocalSearch(const config::ServeSettings& settings);
  LocalSearch(const LocalSearch&) = delete;
  LocalSearch& operator=(const LocalSearch&) = delete;

  /// Searches for two seconds. The results stay valid as long as this object.
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
