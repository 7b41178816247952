// The names of a runtime's methods by the addresses of their code.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "nettrace/event.hpp"
#include "profile/profile.hpp"

namespace farport::events {

// The files of a runtime's modules, by the numbers that it has for them.

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

/// A method's code.
struct Method {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;     ///< Behind its last byte.
  std::string name;          ///< "Orders.Pricing.Quote(int32)"
  std::uint64_t module = 0;  ///< The runtime's number for it.
};

/// Places in code whose methods are wanted.
class CodeAddresses {
 public:
  /// What is beyond a bound is left out: of a stack, all.
  void add(const std::vector<std::uint64_t>& addresses);
  void add(std::uint64_t address);
  /// Whether one of them is from `begin` up to, and not at, `end`.
  [[nodiscard]] bool any_in(std::uint64_t begin, std::uint64_t end) const;

 private:
  std::set<std::uint64_t> addresses_;
};

/// Built from what a runtime tells of its methods: while it compiles them, and of all that there are in a
/// rundown.
class MethodTable {
 public:
  MethodTable() = default;
  /// Keeps the methods alone that have one of these addresses when they are told of. `wanted`: must outlive
  /// it.
  explicit MethodTable(const CodeAddresses& wanted) : wanted_(&wanted) {}

  /// Takes in what the event tells, if it is one that does.
  void add(const nettrace::Event& event);
  /// Whose code is at the address; nothing where none is known. Valid until the next add().
  [[nodiscard]] const Method* find(std::uint64_t address) const;
  /// The name of the method; the address in hexadecimal where there is none.
  [[nodiscard]] std::string name_of(std::uint64_t address) const;
  [[nodiscard]] std::vector<std::string> names_of(const std::vector<std::uint64_t>& addresses) const;
  /// The file of a module, without its directory; empty where it is not known.
  [[nodiscard]] std::string module_name(std::uint64_t module) const { return modules_.name(module); }
  /// The same as a frame of a profile.
  [[nodiscard]] std::optional<profile::Frame> frame_at(std::uint64_t address) const;
  /// The same; a frame that has the address alone where none is known.
  [[nodiscard]] profile::Frame frame_of(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return methods_.size(); }

 private:
  void add_method(nettrace::Cursor in);
  [[nodiscard]] bool has_room(std::size_t bytes);

  std::map<std::uint64_t, Method> methods_;  ///< By their beginnings.
  ModuleTable modules_;
  const CodeAddresses* wanted_ = nullptr;
  std::size_t held_ = 0;
};

/// What a method table holds at most, about. What is told beyond that has no names.
inline constexpr std::size_t kMostMethodBytes = std::size_t{256} << 20;

}  // namespace farport::events
