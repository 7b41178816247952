// examine_here(): examines this host's runtimes.
#include "cli/commands/examine.hpp"
#include "cli/setup/local_search.hpp"
#include "router/agent/doctor/doctor.hpp"

namespace farport::cli {
namespace {

using router::Diagnosis;
using transport::Task;

Task<std::vector<Diagnosis>> examine(LocalSearch& search, router::Doctor& doctor) {
  co_await search.run();
  router::Registry::Filter all = [](const router::Runtime&) { return true; };
  // Nobody else waits for the loop.
  transport::Share share(search.loop(), std::chrono::seconds(1));
  std::vector<Diagnosis> found = co_await doctor.examine(std::move(all), router::Disclosure::all, share);
  co_return found;
}

}  // namespace

std::vector<Diagnosis> examine_here(const config::ServeSettings& settings) {
  LocalSearch search(settings);
  router::Doctor doctor(search.loop(), search.registry(), search.discovery(),
                        {settings.dump.directory, settings.dump.runtime_directory, settings.dump.max_bytes,
                         settings.dump.keep_free_bytes},
                        nullptr);
  return search.loop().run(examine(search, doctor));
}

}  // namespace farport::cli
