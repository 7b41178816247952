// NativeSymbols: names of functions in the files that a process has mapped, and in the kernel.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <vector>

#include "router/agent/runtimes/process_root.hpp"
#include "router/agent/sampler/stack_walk.hpp"
#include "router/symbols/file_symbols.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

/// Reads symbols from a process's own file system.
class NativeSymbols {
 public:
  /// `root` is the process's root; if empty, its files can't be read and only their places are told. `user`
  /// is the process's user, who may have put anything in place of the files. They are read as that user, by
  /// processes that may take `memory` bytes each.
  NativeSymbols(std::optional<ProcessRoot> root, uid_t user, std::uint64_t memory)
      : root_(std::move(root)), user_(user), memory_(memory) {}

  /// Tells `to` where the files of these addresses are mapped, and which functions they contain, in the order
  /// of the addresses. What can't be read becomes a note. Calls `told` after each file.
  void tell(const AddressSpace& space, const std::vector<std::uint64_t>& addresses, SampleSink& to,
            const std::function<void()>& told);

 private:
  void tell_file(const SymbolQuestion& question, SampleSink& to);
  void tell_debug(const UnnamedFile& of, SampleSink& to);
  [[nodiscard]] std::chrono::milliseconds time_left() const;

  std::optional<ProcessRoot> root_;
  uid_t user_;
  std::uint64_t memory_;
  std::chrono::steady_clock::time_point until_;
};

/// Tells `to` the kernel's function at each address. `kallsyms` is the text of /proc/kallsyms. The
/// `addresses` are sorted; `base` has been subtracted from them, and is from what is told. Returns false if
/// the kernel hides its addresses.
bool tell_kernel_symbols(std::istream& kallsyms, const std::vector<std::uint64_t>& addresses,
                         std::uint64_t base, SampleSink& to);

}  // namespace farport::router
