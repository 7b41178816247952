// The names of functions in the files that a process has in its memory, read from its own file system.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <vector>

#include "router/agent/runtimes/process_root.hpp"
#include "router/agent/sampler/address_space.hpp"
#include "router/symbols/file_symbols.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

class NativeSymbols {
 public:
  /// `root`: the process's; none: its files can't be read, and only their places are told. `user`: whose
  /// process it is. Files are read as this user, who may have put anything in their places,
  /// by processes that may take `memory` bytes each.
  NativeSymbols(std::optional<ProcessRoot> root, uid_t user, std::uint64_t memory)
      : root_(std::move(root)), user_(user), memory_(memory) {}

  /// Tells `to` what is known of these addresses, in their order: where each file is, and its functions. What
  /// can't be read becomes a note. `told`: called after each file.
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

/// What the kernel calls its functions (/proc/kallsyms).
/// Tells `to` each function that an address is in, by `kallsyms`, the text of that file. `addresses`: in
/// their order, with `base` taken away, as in what is told. False: the kernel hides its addresses.
bool tell_kernel_symbols(std::istream& kallsyms, const std::vector<std::uint64_t>& addresses,
                         std::uint64_t base, SampleSink& to);

}  // namespace farport::router
