#include "cli/output/finding_report.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/options/commands.hpp"
#include "cli/terminal/live_region.hpp"
#include "cli/terminal/table.hpp"

namespace farport::cli {
namespace {

using Level = Finding::Level;

/// Column where texts begin: after the longest level and a space.
constexpr std::size_t kTextColumn = 9;
/// In narrower windows text is not wrapped.
constexpr std::size_t kMinColumns = 30;

std::string_view colour_of(Level level) {
  switch (level) {
    case Level::ok:
      return "\x1b[32m";
    case Level::warning:
      return "\x1b[33m";
    case Level::problem:
      return "\x1b[31m";
    case Level::skipped:
      break;
  }
  return "\x1b[2m";
}

/// Whether to use colours (no-color.org).
bool may_colour() {
  const char* unwanted = std::getenv("NO_COLOR");
  return can_draw_on(STDOUT_FILENO) && (unwanted == nullptr || *unwanted == '\0');
}

/// A text wrapped into lines that fit beside the level.
std::vector<std::string> lines_beside(const std::string& text) {
  const std::size_t columns = terminal_size(STDOUT_FILENO).columns;
  return wrap(escape(text), columns > kMinColumns ? columns - kTextColumn : 0);
}

void print_line(const std::string& begin, const std::string& text) {
  std::fputs((begin + text + "\n").c_str(), stdout);
}

nlohmann::json object_of(const Finding& finding) {
  nlohmann::json object = {{"level", std::string(to_string(finding.level))}, {"text", finding.text}};
  if (!finding.hint.empty()) object["hint"] = finding.hint;
  return object;
}

}  // namespace

FindingReport::FindingReport(bool json) {
  if (json) json_ = std::make_unique<nlohmann::json>(nlohmann::json::array());
  coloured_ = !json && may_colour();
}

// Throws only if there is no memory left.
// NOLINTNEXTLINE(bugprone-exception-escape)
FindingReport::~FindingReport() {
  if (json_ == nullptr) return;
  const std::string text = json_->dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  std::fprintf(stdout, "%s\n", text.c_str());
}

void FindingReport::show(const Finding& finding) {
  std::string word = fmt::format("{:<8} ", to_string(finding.level));
  if (coloured_) word = std::string(colour_of(finding.level)) + word + "\x1b[0m";
  const std::string margin(kTextColumn, ' ');
  for (const std::string& line : lines_beside(finding.text)) {
    print_line(word, line);
    word = margin;
  }
  if (finding.hint.empty()) return;
  for (const std::string& line : lines_beside("to do: " + finding.hint)) print_line(margin, line);
}

void FindingReport::count(Level level) {
  if (level == Level::problem) ++problems_;
  if (level == Level::warning) ++warnings_;
}

void FindingReport::add(Level level, const std::string& text) {
  count(level);
  if (json_ != nullptr) return json_->push_back(object_of({level, text}));
  show({level, text});
}

void FindingReport::add(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) add(finding.level, finding.text);
}

void FindingReport::add_directory(const std::string& what, const std::string& path, int access) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    add(Level::problem, what + " " + path + " is no directory");
  } else if (::access(path.c_str(), access) != 0) {
    add(Level::problem, what + " " + path + " can't be used by user " + std::to_string(::geteuid()));
  } else {
    add(Level::ok, what + " " + path);
  }
}

void FindingReport::add(const router::Diagnosis& diagnosis, const std::string& agent) {
  count(diagnosis.finding.level);
  if (json_ == nullptr) return show(diagnosis.finding);
  nlohmann::json object = object_of(diagnosis.finding);
  object["step"] = diagnosis.step;
  if (!agent.empty()) object["agent"] = agent;
  if (diagnosis.runtime) {
    object["runtime"] = {
        {"id", diagnosis.runtime->id}, {"name", diagnosis.runtime->name}, {"pid", diagnosis.runtime->pid}};
  }
  json_->push_back(std::move(object));
}

void FindingReport::close(const std::string& line) {
  if (json_ != nullptr) return;
  for (const std::string& each : wrap(escape(line), terminal_size(STDOUT_FILENO).columns))
    print_line("", each);
}

int FindingReport::exit_code() const {
  return problems_ == 0 ? kSuccess : kFailure;
}

}  // namespace farport::cli
