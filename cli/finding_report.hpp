// What `farport check` has found, as it prints it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "auth/check.hpp"

namespace farport::cli {

/// Prints findings as they come, or all as JSON at its end, and remembers whether one is a problem.
class FindingReport {
 public:
  explicit FindingReport(bool json);
  FindingReport(const FindingReport&) = delete;
  FindingReport& operator=(const FindingReport&) = delete;
  ~FindingReport();

  void add(auth::Finding::Level level, const std::string& text);
  void add(const std::vector<auth::Finding>& findings);
  /// kFailure once there is a problem.
  [[nodiscard]] int exit_code() const;

 private:
  int problems_ = 0;
  std::unique_ptr<nlohmann::json> json_;  ///< An array where JSON is asked for, otherwise null.
};

}  // namespace farport::cli
