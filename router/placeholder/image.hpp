// The placeholder's program, carried inside farport and run from memory.
#pragma once

#include <string>

#include "base/error.hpp"
#include "transport/unique_fd.hpp"

namespace farport::router {

/// The program's name, as /proc/PID/exe shows it behind "/memfd:".
inline constexpr const char* kPlaceholderName = "farport-placeholder";

/// A sealed file in memory that holds the program. Made once, for all placeholders of a mirror.
class PlaceholderImage {
 public:
  /// Fails where the system allows no executable file in memory (the sysctl vm.memfd_noexec).
  [[nodiscard]] static Result<PlaceholderImage> make();

  /// What to execute. Valid in this process and in a child that has not executed anything yet.
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

 private:
  explicit PlaceholderImage(transport::UniqueFd file) : file_(std::move(file)) {}

  transport::UniqueFd file_;
};

}  // namespace farport::router
