// MethodTable: names of a runtime's methods by code address, and of its modules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "events/providers.hpp"
#include "nettrace/event.hpp"
#include "nettrace/stream_join.hpp"
#include "profile/profile.hpp"

namespace farport::events {

/// The file names of a runtime's modules by the runtime's ids, from module loads and from a rundown.
class ModuleTable {
 public:
  /// Takes in an event about a module; ignores others.
  void add(const nettrace::Event& event);
  /// A module's file name without directory; empty if unknown.
  [[nodiscard]] std::string name(std::uint64_t module) const;

 private:
  std::unordered_map<std::uint64_t, std::string> names_;
  std::size_t held_ = 0;
};

/// Approximate limit of a module table's memory. Modules beyond it have no names.
inline constexpr std::size_t kMaxModuleBytes = std::size_t{16} << 20;

/// The code of a method.
struct Method {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;     ///< One past its last byte.
  std::string name;          ///< "Orders.Pricing.Quote(int32)"
  std::uint64_t module = 0;  ///< The runtime's id of it.
};

/// Code addresses whose methods are wanted.
class CodeAddresses {
 public:
  /// Adds all addresses of a stack, or none beyond the limit.
  void add(const std::vector<std::uint64_t>& addresses);
  void add(std::uint64_t address);
  /// Whether any address is in [begin, end).
  [[nodiscard]] bool any_in(std::uint64_t begin, std::uint64_t end) const;

 private:
  std::set<std::uint64_t> addresses_;
};

/// The id of MethodLoadVerbose in ClrEtwAll.man; in a rundown, that of MethodDCStartVerbose.
inline constexpr std::uint32_t kMethodLoadVerbose = 143;

/// MethodLoadVerbose_V2, which tells where code begins and ends.
inline constexpr nettrace::EventKind kMethodLoad{kRuntimeProvider, kMethodLoadVerbose, 2, kInformationalLevel,
                                                 kLoaderKeyword};
/// The payload of a kMethodLoad. `names`: namespace, name and signature, in UTF-16 and each with a zero.
[[nodiscard]] std::vector<std::byte> method_load(std::uint64_t id, std::uint64_t begin, std::uint32_t size,
                                                 nettrace::BytesView names);

/// Whether an event says where a method's code is, and its name: while the runtime compiles it, or in a
/// rundown.
[[nodiscard]] bool tells_of_method(const nettrace::Definition& definition);

/// The method in such an event; empty if it is malformed, or another event.
[[nodiscard]] std::optional<Method> read_method(const nettrace::Event& event);

/// A runtime's methods, from events while it compiles them and from a rundown.
class MethodTable {
 public:
  MethodTable() = default;
  /// Keeps only methods that contain an address in `wanted` when they are reported. `wanted` must outlive it.
  explicit MethodTable(const CodeAddresses& wanted) : wanted_(&wanted) {}

  /// Takes in an event about a method or module; ignores others.
  void add(const nettrace::Event& event);
  /// The method at the address; nullptr if unknown. Valid until the next add().
  [[nodiscard]] const Method* find(std::uint64_t address) const;
  /// The method's name, or the address in hexadecimal if it is unknown.
  [[nodiscard]] std::string name_of(std::uint64_t address) const;
  [[nodiscard]] std::vector<std::string> names_of(const std::vector<std::uint64_t>& addresses) const;
  /// A module's file name without directory; empty if unknown.
  [[nodiscard]] std::string module_name(std::uint64_t module) const { return modules_.name(module); }
  /// The method at the address as a profile's frame; empty if unknown.
  [[nodiscard]] std::optional<profile::Frame> frame_at(std::uint64_t address) const;
  /// The same, with a frame of the address only if it is unknown.
  [[nodiscard]] profile::Frame frame_of(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return methods_.size(); }

 private:
  void add_method(const nettrace::Event& event);
  [[nodiscard]] bool has_room(std::size_t bytes);

  std::map<std::uint64_t, Method> methods_;  ///< By start address.
  ModuleTable modules_;
  const CodeAddresses* wanted_ = nullptr;
  std::size_t held_ = 0;
};

/// Approximate limit of a method table's memory. Methods beyond it have no names.
inline constexpr std::size_t kMaxMethodBytes = std::size_t{256} << 20;

}  // namespace farport::events
