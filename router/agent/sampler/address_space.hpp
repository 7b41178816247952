// Which files are where in a process's memory.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <map>

#include "router/agent/sampler/perf_record.hpp"

namespace farport::router {

using TakeMapped = std::function<void(MappedFile)>;

/// What may be executed of /proc/PID/maps (proc(5)), in its order. Lines that can't be read are left out, and
/// what comes after 16 MiB of text.
void read_maps(std::istream& maps, const TakeMapped& take);

/// The same of a process that is there. Nothing: it can't be read.
void read_maps_of(pid_t process, const TakeMapped& take);

/// The parts that don't overlap: of two that do, the later one counts.
class AddressSpace {
 public:
  /// Once they take 2 MiB of memory nothing is added: a process may have 65,530 of them (vm.max_map_count),
  /// and paths of 4 KiB.
  void add(MappedFile file);
  /// nullptr: nothing that is known is there.
  [[nodiscard]] const MappedFile* find(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return files_.size(); }

 private:
  using Files = std::map<std::uint64_t, MappedFile>;
  Files::iterator remove(Files::iterator each);
  Files::iterator put(MappedFile file);

  Files files_;            ///< By their starts.
  std::size_t bytes_ = 0;  ///< That they take.
};

}  // namespace farport::router
