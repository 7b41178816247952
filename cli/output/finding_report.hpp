// FindingReport: prints what `farport check` and `farport doctor` have found.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "router/wire/diagnosis.hpp"

namespace farport::cli {

/// Prints findings as they come, or all as JSON in the destructor, and counts warnings and problems.
class FindingReport {
 public:
  explicit FindingReport(bool json);
  FindingReport(const FindingReport&) = delete;
  FindingReport& operator=(const FindingReport&) = delete;
  ~FindingReport();

  void add(Finding::Level level, const std::string& text);
  void add(const std::vector<Finding>& findings);
  /// Checks that a directory exists and that we have `access`, as for access(2).
  void add_directory(const std::string& what, const std::string& path, int access);
  /// `agent`: the agent that it concerns; may be empty.
  void add(const router::Diagnosis& diagnosis, const std::string& agent);
  /// Prints a closing line; nothing as JSON.
  void close(const std::string& line);

  /// Whether it prints JSON.
  [[nodiscard]] bool for_scripts() const { return json_ != nullptr; }
  [[nodiscard]] int problems() const { return problems_; }
  [[nodiscard]] int warnings() const { return warnings_; }
  /// kFailure if there is a problem.
  [[nodiscard]] int exit_code() const;

 private:
  void show(const Finding& finding);
  void count(Finding::Level level);

  int problems_ = 0;
  int warnings_ = 0;
  bool coloured_ = false;
  std::unique_ptr<nlohmann::json> json_;  ///< An array if JSON is wanted, otherwise null.
};

}  // namespace farport::cli
