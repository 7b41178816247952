#include "cli/finding_report.hpp"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/text.hpp"

namespace farport::cli {

FindingReport::FindingReport(bool json) {
  if (json) json_ = std::make_unique<nlohmann::json>(nlohmann::json::array());
}

// What it prints is text: it throws where there is no memory left alone.
// NOLINTNEXTLINE(bugprone-exception-escape)
FindingReport::~FindingReport() {
  if (json_ == nullptr) return;
  const std::string text = json_->dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  std::fprintf(stdout, "%s\n", text.c_str());
}

void FindingReport::add(auth::Finding::Level level, const std::string& text) {
  const char* word = level == auth::Finding::Level::ok        ? "ok"
                     : level == auth::Finding::Level::warning ? "warning"
                                                              : "problem";
  if (json_ != nullptr) {
    json_->push_back({{"level", word}, {"text", text}});
  } else {
    print(stdout, "{:<8} {}\n", std::string_view(word), text);
  }
  if (level == auth::Finding::Level::problem) ++problems_;
}

void FindingReport::add(const std::vector<auth::Finding>& findings) {
  for (const auth::Finding& finding : findings) add(finding.level, finding.text);
}

int FindingReport::exit_code() const {
  return problems_ == 0 ? kSuccess : kFailure;
}

}  // namespace farport::cli
