// What the kernel calls its functions (/proc/kallsyms).
#pragma once

#include <cstdint>
#include <istream>
#include <vector>

#include "router/wire/samples.hpp"

namespace farport::router {

/// Tells `to` each function that an address is in, by `kallsyms`, the text of that file. `addresses`: in
/// their order, with `base` taken away, as in what is told. False: the kernel hides its addresses.
bool tell_kernel_symbols(std::istream& kallsyms, const std::vector<std::uint64_t>& addresses,
                         std::uint64_t base, SampleSink& to);

}  // namespace farport::router
