// PathGlob: a pattern of request paths, "/api/**/*".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace farport::router {

/// "*" stands for anything without "/", "**/" for any number of segments with their "/", a last "**" for all
/// that follows. Case does not count, as it does not for ASP.NET's routes.
class PathGlob {
 public:
  explicit PathGlob(std::string_view pattern);

  /// Takes time in proportion to the lengths of both.
  [[nodiscard]] bool matches(std::string_view path) const;

 private:
  enum class Part : std::uint8_t { letter, within_segment, segments, rest };
  struct Step {
    Part part;
    char letter;
  };
  /// Which steps may come next.
  using Places = std::vector<bool>;

  void add(Places& to, std::size_t step) const;

  std::vector<Step> steps_;
};

}  // namespace farport::router
