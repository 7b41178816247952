// This program's own symbols, for the tests of who reads symbols.
#pragma once

#include <vector>

#include "router/agent/sampler/stack_walk.hpp"
#include "router/wire/samples.hpp"

// With a name that the test knows, and no other.
extern "C" [[gnu::noinline, gnu::used]] int farport_test_function(int value);

namespace farport::router::test {

class Told final : public SampleSink {
 public:
  void on_mapping(SampledMapping mapping) override { mappings.push_back(std::move(mapping)); }
  void on_symbol(SampledSymbol symbol) override { symbols.push_back(std::move(symbol)); }
  void on_note(std::string_view text) override { notes.emplace_back(text); }

  std::vector<SampledMapping> mappings;
  std::vector<SampledSymbol> symbols;
  std::vector<std::string> notes;
};

inline AddressSpace own_space() {
  AddressSpace space;
  read_maps_of(::getpid(), [&](MappedFile file) { space.add(std::move(file)); });
  return space;
}

inline std::uint64_t place_of_function() {
  return reinterpret_cast<std::uint64_t>(&farport_test_function);
}

}  // namespace farport::router::test
