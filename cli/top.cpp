// farport top: all runtimes at a glance.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/live_region.hpp"
#include "cli/remotes.hpp"
#include "cli/table.hpp"
#include "cli/terminal_keys.hpp"
#include "cli/top_agent.hpp"
#include "cli/top_table.hpp"
#include "transport/race.hpp"
#include "transport/signals.hpp"

namespace farport::cli {
namespace {

using transport::Milliseconds;
using transport::Task;

/// Whether the user's language is written in UTF-8.
bool shows_graphs() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const language = std::getenv(variable);
    if (language == nullptr || *language == '\0') continue;
    const std::string_view text(language);
    return text.find("UTF-8") != std::string_view::npos || text.find("utf8") != std::string_view::npos;
  }
  return false;
}

class Top {
 public:
  Top(transport::Loop& loop, const config::TopSettings& settings)
      : loop_(loop),
        settings_(settings),
        order_(top_order(settings.order).value_or(TopOrder::cpu)),
        graphs_(shows_graphs()),
        done_(loop) {
    if (settings.format.empty() && can_draw_on(STDOUT_FILENO)) region_.emplace(STDOUT_FILENO);
  }

  /// Finds the agents, and shows their runtimes until `stop`.
  Task<Result<void>> run(const std::vector<router::MirroredAgent>& agents, transport::Event& stop) {
    for (const router::MirroredAgent& agent : agents) {
      const auto answers = co_await first_of(router::ask_agent(loop_, agent, "/v1/agent"), stop.wait());
      if (!answers) co_return Result<void>();
      if (!*answers) co_return tl::unexpected(answers->error());
      for (const router::AgentAnswer& answer : **answers)
        agents_.push_back(std::make_unique<TopAgent>(loop_, agent, answer, settings_));
    }
    for (const auto& agent : agents_) agent->start();
    co_await show_until(stop);
    for (const auto& agent : agents_) co_await agent->leave();
    co_return Result<void>();
  }

 private:
  Task<void> show_until(transport::Event& stop) {
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

  /// The first values come after an interval.
  Task<void> show_all() {
    for (std::uint32_t round = 0; settings_.rounds == 0 || round < settings_.rounds; ++round) {
      if (region_) show();
      co_await transport::sleep(loop_, settings_.interval);
      if (round == 0) co_await transport::sleep(loop_, settings_.interval);
      if (!region_) show();
    }
    done_.set();
  }

  void show() {
    std::vector<TopRuntime> runtimes;
    for (const auto& agent : agents_) {
      for (TopRuntime& each : agent->runtimes()) runtimes.push_back(std::move(each));
    }
    sort_runtimes(runtimes, order_, upside_down_);
    if (region_) {
      draw(runtimes);
    } else if (settings_.format == "json") {
      print_whole(top_json(runtimes));
    } else {
      print_whole(join_lines(top_lines(runtimes, 0, graphs_)) + "\n");
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
    for (const auto& agent : agents_) {
      if (!agent->trouble().empty()) lines.push_back(cut(escape(agent->trouble()), room.columns));
    }
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
  TopOrder order_;
  bool upside_down_ = false;
  bool graphs_;
  std::vector<std::unique_ptr<TopAgent>> agents_;
  std::optional<LiveRegion> region_;
  transport::Event done_;
};

}  // namespace

int top(const config::TopSettings& settings) {
  const auto agents = agents_of(settings.remotes);
  if (!agents) return report(agents.error(), kUsage);
  transport::Loop loop;
  Top shown(loop, settings);
  transport::Event stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM, SIGHUP}, [&stop](int) { stop.set(); });
  const auto done = loop.run(shown.run(*agents, stop));
  return done ? kSuccess : report(done.error());
}

}  // namespace farport::cli
