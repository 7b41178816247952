// farport top: shows all runtimes at a glance.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <set>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/commands/top_agent.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/top_table.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/live_region.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal_keys.hpp"
#include "config/resolve.hpp"
#include "transport/child_process.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

using transport::Milliseconds;
using transport::Task;

/// Whether the user's locale uses UTF-8.
bool shows_graphs() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const language = std::getenv(variable);
    if (language == nullptr || *language == '\0') continue;
    const std::string_view text(language);
    return text.find("UTF-8") != std::string_view::npos || text.find("utf8") != std::string_view::npos;
  }
  return false;
}

/// Interval for retrying names without an answering agent.
constexpr Milliseconds kBetweenSearches{5000};
/// How long the first table waits for all values, in addition to the time of the requests.
constexpr Milliseconds kFirstValues{10'000};

/// A name from the command line, and the agents found behind it.
struct Named {
  const router::MirroredAgent& name;
  std::vector<std::unique_ptr<TopAgent>> agents{};
  bool found = false;
  std::optional<Error> failure{};  ///< Why there is none.
};

class Top {
 public:
  Top(transport::Loop& loop, const config::TopSettings& settings)
      : loop_(loop),
        settings_(settings),
        options_(loop, session_options(settings.session)),
        order_(top_order(settings.order).value_or(TopOrder::cpu)),
        graphs_(shows_graphs()),
        changed_(loop),
        done_(loop) {
    if (settings.format.empty() && can_draw_on(STDOUT_FILENO)) region_.emplace(STDOUT_FILENO);
  }

  /// Finds the agents, all at once, and shows their runtimes until `stop`.
  Task<void> run(const std::vector<router::MirroredAgent>& agents, transport::StopSource& stop) {
    for (const router::MirroredAgent& agent : agents) all_.push_back({agent});
    {
      transport::TaskSet finding(loop_);
      for (Named& each : all_) finding.spawn(find(each));
      co_await show_until(stop);
    }
    transport::TaskSet leaving(loop_);
    for (const Named& each : all_) {
      for (const auto& agent : each.agents) leaving.spawn(agent->leave());
    }
    co_await first_of(leaving.idle(), stop.again());
  }

  /// The errors of names without an agent.
  [[nodiscard]] std::vector<Error> failures() const {
    std::vector<Error> all;
    for (const Named& each : all_) {
      if (each.failure) all.push_back(*each.failure);
    }
    return all;
  }

 private:
  /// Retries until an agent answers. A command is tried only once, since it might ask for a password again.
  Task<void> find(Named& named) {
    for (;;) {
      auto found = co_await router::find_agents(loop_, named.name, options_, "/v1/runtimes");
      if (found) {
        co_await follow(named, std::move(*found));
        co_return;
      }
      named.failure = found.error();
      changed_.changed();
      if (named.name.reach != nullptr) co_return;
      co_await transport::sleep(loop_, kBetweenSearches);
    }
  }

  /// An agent behind two names is followed once.
  Task<void> follow(Named& named, router::FoundAgents found) {
    router::FoundAgents again;
    for (router::FoundAgent& each : found) {
      const std::string& agent = each.client->agent();
      if (!agent.empty() && !known_.insert(agent).second) {
        again.push_back(std::move(each));
        continue;
      }
      named.agents.push_back(
          std::make_unique<TopAgent>(loop_, std::move(each), settings_.interval, changed_));
    }
    named.failure.reset();
    named.found = true;
    changed_.changed();
    co_await router::leave_agents(loop_, std::move(again));
  }

  Task<void> show_until(transport::StopSource& stop) {
    // Until then the terminal belongs to commands, which may ask for a password.
    const bool answered = co_await first_of(wait_for_answers(), stop.wait());
    if (!answered || none_found()) co_return;
    std::optional<TerminalKeys> keys;
    transport::TaskSet working(loop_);
    if (region_) {
      keys.emplace(loop_);
      working.spawn(keys->read([this](char key) { take_key(key); }));
    }
    const transport::SignalWatch back(loop_, {SIGCONT}, [&keys](int) {
      if (keys) keys->continued();
    });
    working.spawn(show_all());
    co_await first_of(wait_done(), stop.wait());
    if (region_) region_->forget();
  }

  Task<void> wait_done() { co_await done_.wait(); }

  Task<void> show_all() {
    if (!region_) co_await with_deadline(loop_, wait_for_values(), kFirstValues + 2 * settings_.interval);
    for (std::uint32_t round = 1;; ++round) {
      show();
      if (round == settings_.rounds) break;
      co_await transport::sleep(loop_, settings_.interval);
    }
    done_.set();
  }

  /// Waits until each name was tried.
  Task<void> wait_for_answers() {
    while (std::any_of(all_.begin(), all_.end(), is_open)) co_await changed_.wait();
  }
  [[nodiscard]] static bool is_open(const Named& named) { return !named.found && !named.failure; }
  /// Whether each name was tried and no agent was found.
  [[nodiscard]] bool none_found() const {
    return std::all_of(all_.begin(), all_.end(), [](const Named& each) { return each.failure.has_value(); });
  }

  Task<void> wait_for_values() {
    const auto is_told = [](const auto& agent) { return agent->is_told(); };
    const auto are_told = [&](const Named& each) {
      return std::all_of(each.agents.begin(), each.agents.end(), is_told);
    };
    while (!std::all_of(all_.begin(), all_.end(), are_told)) co_await changed_.wait();
  }

  [[nodiscard]] std::vector<TopRuntime> runtimes() const {
    std::vector<TopRuntime> all;
    for (const Named& each : all_) {
      for (const auto& agent : each.agents) {
        for (TopRuntime& runtime : agent->runtimes()) all.push_back(std::move(runtime));
      }
    }
    return all;
  }

  /// The current problems of names and agents.
  [[nodiscard]] std::vector<std::string> troubles() const {
    std::vector<std::string> all;
    for (const Named& each : all_) {
      if (each.failure) all.push_back(each.failure->message());
      for (const auto& agent : each.agents) {
        if (!agent->trouble().empty()) all.push_back(agent->trouble());
      }
    }
    return all;
  }

  void show() {
    std::vector<TopRuntime> shown = runtimes();
    sort_runtimes(shown, order_, upside_down_);
    if (region_) {
      draw(shown);
    } else if (settings_.format == "json") {
      print_whole(top_json(shown));
    } else {
      print_whole(join_lines(top_lines(shown, 0, graphs_)) + "\n");
    }
  }

  void print_whole(const std::string& text) {
    const bool printed = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    if (!printed) done_.set();
  }

  void draw(const std::vector<TopRuntime>& runtimes) {
    if (!region_->in_foreground()) return;
    const TerminalSize room = region_->room();
    auto lines = top_lines(runtimes, room.columns, graphs_);
    for (const std::string& trouble : troubles()) lines.push_back(cut(escape(trouble), room.columns));
    const std::size_t most = room.rows > 1 ? room.rows - 1 : room.rows;
    if (lines.size() > most) lines.resize(most);
    lines.push_back(
        cut("P cpu  M memory  H heap  A allocated  G gc  E exceptions  R requests  N name  I invert  q quit",
            room.columns));
    region_->draw(lines);
  }

  void take_key(char key) {
    if (key == 'q') return done_.set();
    if (key == 'I') upside_down_ = !upside_down_;
    if (const auto order = top_order_of_key(key)) order_ = *order;
    show();
  }

  transport::Loop& loop_;
  const config::TopSettings& settings_;
  router::ClientOptions options_;
  TopOrder order_;
  bool upside_down_ = false;
  bool graphs_;
  std::deque<Named> all_;
  std::set<std::string> known_;  ///< Identities of the agents found.
  std::optional<LiveRegion> region_;
  transport::Condition changed_;
  transport::Event done_;
};

int top(const config::TopSettings& settings) {
  ASSIGN_OR_REPORT(const auto agents, agents_of(settings.remotes), kUsage);
  transport::Loop loop;
  Top shown(loop, settings);
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM, SIGHUP}, [&stop](int) { stop.stop(); });
  loop.run(shown.run(agents, stop));
  const std::vector<Error> failures = shown.failures();
  for (const Error& failure : failures) report(failure);
  return failures.empty() ? kSuccess : kFailure;
}

constexpr const char* kTopAbout =
    "Shows all runtimes of one or several agents at a glance: CPU, memory, garbage collection,\n"
    "exceptions, thread pool, and ASP.NET requests. Keys change the sort order; without a terminal,\n"
    "prints a table at each refresh.";
constexpr const char* kTopExamples = R"(Examples:
  farport top orders.example:9000 payments.example:9000
  farport top k8s://prod/deploy/orders
  farport top prod --sort memory --rounds 1)";

RunCommand add_top_options(CLI::App& options, config::Flags& flags) {
  const auto into = std::make_shared<config::TopSettings>();
  add_remotes(options, flags);
  options
      .add_option("--refresh-interval", flags.interval,
                  "Interval at which the runtimes report their counters [1s]")
      ->type_name("TIME");
  options
      .add_option("--sort", into->order,
                  "Sort by cpu, memory, heap, allocated, gc, exceptions, queue, requests or name [cpu]")
      ->type_name("COLUMN")
      ->check(CLI::IsMember(
          {"cpu", "memory", "heap", "allocated", "gc", "exceptions", "queue", "requests", "name"}));
  options.add_option("--rounds", into->rounds, "Number of refreshes before exiting [until q or Ctrl-C]")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 1'000'000));
  add_format(
      options, flags.format,
      "Output format: text or json (one object per line and runtime) [live table on a terminal, else text]",
      {"text", "json"});

  return [&flags, into] { return run_with(config::resolve_top(flags, *into), top); };
}

}  // namespace

const Command kTop{"top", "Show CPU, memory, GC and requests of all runtimes, live", kTopAbout, kTopExamples,
                   add_top_options};

}  // namespace farport::cli
