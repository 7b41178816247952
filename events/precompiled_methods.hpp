// PrecompiledMethods: names for code that was compiled ahead of time (ReadyToRun), such as .NET's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "events/methods.hpp"
#include "events/providers.hpp"
#include "nettrace/event.hpp"
#include "nettrace/stream_join.hpp"

namespace farport::events {

/// Methods that a runtime has begun to use, from R2RGetEntryPoint in ClrEtwAll.man. The runtime tells where
/// the code of such a method begins, but not where it ends, and no reader of recordings uses that. So the
/// code of each lasts up to the next one that is known: no method in between was used, so none is on a stack.
class PrecompiledMethods final : public nettrace::Handler {
 public:
  void on_event(const nettrace::Event& event) override;

  /// Takes the next of those that the recording does not name anyway, each as the payload of a kMethodLoad.
  /// Empty if there are no more.
  [[nodiscard]] std::vector<std::vector<std::byte>> take_loads();

  /// The most memory that they take, some 15,000 of them. Others have no names.
  static constexpr std::size_t kMaxBytes = std::size_t{4} << 20;

 private:
  struct Method {
    std::uint64_t id = 0;
    /// Namespace, name and signature as they came; none if the recording names it anyway.
    std::vector<std::byte> names;
  };
  [[nodiscard]] Method* method_at(std::uint64_t begin, std::size_t bytes);
  void add_first_use(const nettrace::Event& event);
  void add_named(const nettrace::Event& event);

  std::map<std::uint64_t, Method> by_begin_;  ///< By where their code begins.
  std::size_t held_ = 0;
};

}  // namespace farport::events
