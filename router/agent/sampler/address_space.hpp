// Which files are where in a process's memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "router/agent/sampler/perf_record.hpp"

namespace farport::router {

/// What may be executed of /proc/PID/maps (proc(5)). Lines that can't be read are left out.
[[nodiscard]] std::vector<MappedFile> parse_maps(std::string_view text);

/// The same of a process that is there. None: it can't be read.
[[nodiscard]] std::vector<MappedFile> mapped_files(pid_t process);

/// The parts that don't overlap: of two that do, the later one counts.
class AddressSpace {
 public:
  /// Beyond the most that a process may have (vm.max_map_count is 65,530) nothing is added.
  void add(MappedFile file);
  /// nullptr: nothing that is known is there.
  [[nodiscard]] const MappedFile* find(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return files_.size(); }

 private:
  std::map<std::uint64_t, MappedFile> files_;  ///< By their starts.
};

}  // namespace farport::router
