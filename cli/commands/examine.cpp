#include "cli/commands/examine.hpp"

#include <cstdlib>
#include <string>

#include "auth/tls_credentials.hpp"
#include "cli/setup/helpers.hpp"
#include "router/agent/doctor/doctor.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

using At = auth::Validity::At;

constexpr const char* kSetIt = "correct the wrong clock, and keep it synchronized (timedatectl set-ntp true)";

Finding problem(std::string text) {
  return {Finding::Level::problem, std::move(text), kSetIt};
}

std::string apart(std::time_t seconds) {
  constexpr std::time_t kMinute = 60;
  constexpr std::time_t kHour = 60 * kMinute;
  constexpr std::time_t kDay = 24 * kHour;
  if (seconds >= 2 * kDay) return std::to_string(seconds / kDay) + " days";
  if (seconds >= 2 * kHour) return std::to_string(seconds / kHour) + " hours";
  return std::to_string(seconds / kMinute) + " minutes";
}

}  // namespace

std::optional<Finding> check_clocks(const ClockSigns& signs, const std::string& who) {
  const std::string here = "this host's clock says " + auth::time_text(signs.now);
  if (signs.agent_now) {
    const std::time_t difference = std::abs(signs.now - *signs.agent_now);
    if (difference <= kMaxApart) return std::nullopt;
    return problem(here + ", that of " + who + " " + auth::time_text(*signs.agent_now) + ": they are " +
                   apart(difference) + " apart");
  }
  if (!signs.own) return std::nullopt;
  const At own = signs.own->at(signs.now);
  if (own == At::valid) {
    if (!signs.called_expired) return std::nullopt;
    return problem(here + ", by which our certificate is valid until " + auth::time_text(signs.own->until) +
                   ", and " + who + " says that it has expired: one of the two clocks is wrong");
  }
  if (!signs.agents || signs.agents->at(signs.now) != own) return std::nullopt;
  if (own == At::expired) {
    return problem(here + ", by which both certificates have expired, ours at " +
                   auth::time_text(signs.own->until) + " and that of " + who + " at " +
                   auth::time_text(signs.agents->until) + ": this clock may be fast");
  }
  return problem(here + ", by which neither certificate is valid yet, ours from " +
                 auth::time_text(signs.own->from) + " and that of " + who + " from " +
                 auth::time_text(signs.agents->from) + ": this clock may be slow");
}

namespace {

/// A process that doesn't answer at once is reported after one second.
constexpr transport::Milliseconds kSearch{2000};
constexpr transport::Milliseconds kRescan{300};

}  // namespace

LocalSearch::LocalSearch(const config::ServeSettings& settings)
    : registry_(loop_),
      discovery_(loop_, registry_, make_silent_log(),
                 {settings.search, settings.search_processes, settings.named, kRescan}) {}

transport::Task<void> LocalSearch::run() {
  co_await with_deadline(loop_, discovery_.run(), kSearch);
}

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
  // First, while there are no threads.
  const auto sampler = start_sampler(settings, make_silent_log());
  LocalSearch search(settings);
  router::Doctor doctor(search.loop(), search.registry(), search.discovery(),
                        {{settings.dump.directory, settings.dump.runtime_directory, settings.dump.max_bytes,
                          settings.dump.keep_free_bytes},
                         sampler});
  return search.loop().run(examine(search, doctor));
}

}  // namespace farport::cli
