// AddressSpace: which files are mapped where in a process's memory.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <map>

#include "router/agent/sampler/perf_record.hpp"

namespace farport::router {

using TakeMapped = std::function<void(MappedFile)>;

/// Passes the executable mappings in the text of /proc/PID/maps (proc(5)) to `take`, in its order. Skips
/// malformed lines, and what comes after 16 MiB of text.
void read_maps(std::istream& maps, const TakeMapped& take);

/// The same for a running process. Passes nothing if its maps can't be read.
void read_maps_of(pid_t process, const TakeMapped& take);

/// Mappings that don't overlap: a new one replaces what it overlaps.
class AddressSpace {
 public:
  /// Adds a mapping. Adds nothing more once they take 2 MiB of memory, since a process may have 65,530 of
  /// them (vm.max_map_count) with paths of 4 KiB.
  void add(MappedFile file);
  /// The mapping at an address, or nullptr.
  [[nodiscard]] const MappedFile* find(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return files_.size(); }

 private:
  using Files = std::map<std::uint64_t, MappedFile>;
  Files::iterator remove(Files::iterator each);
  Files::iterator put(MappedFile file);

  Files files_;            ///< By start address.
  std::size_t bytes_ = 0;  ///< The memory that they take.
};

}  // namespace farport::router
