#include "cli/setup/local_search.hpp"

#include "transport/race.hpp"

namespace farport::cli {
namespace {

/// A process that doesn't answer at once is reported after one second.
constexpr transport::Milliseconds kSearch{2000};
constexpr transport::Milliseconds kRescan{300};

router::DiscoverySettings discovery_settings(const config::ServeSettings& settings) {
  router::DiscoverySettings discovery;
  discovery.search = settings.search;
  discovery.search_processes = settings.search_processes;
  for (const config::NamedSocket& named : settings.runtimes) {
    discovery.named.push_back({named.name, named.path});
  }
  discovery.rescan = kRescan;
  return discovery;
}

}  // namespace

LocalSearch::LocalSearch(const config::ServeSettings& settings)
    : registry_(loop_), discovery_(loop_, registry_, make_silent_log(), discovery_settings(settings)) {}

transport::Task<void> LocalSearch::run() {
  co_await with_deadline(loop_, discovery_.run(), kSearch);
}

}  // namespace farport::cli
