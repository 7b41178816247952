// The files of a runtime's modules, by the numbers that it has for them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "nettrace/event.hpp"

namespace farport::events {

/// Built from what a runtime tells while it loads modules, and of all that there are in a rundown.
class ModuleTable {
 public:
  /// Takes in what the event tells, if it is one that does.
  void add(const nettrace::Event& event);
  /// The file of a module, without its directory; empty where it is not known.
  [[nodiscard]] std::string name(std::uint64_t module) const;

 private:
  std::unordered_map<std::uint64_t, std::string> names_;
  std::size_t held_ = 0;
};

/// What a table of modules holds at most, about. What is told beyond that has no names.
inline constexpr std::size_t kMostModuleBytes = std::size_t{16} << 20;

}  // namespace farport::events
