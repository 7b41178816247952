// Exceptions and methods on their way from a reader to the command that has started it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "events/exceptions.hpp"
#include "profile/profile.hpp"

namespace farport::router {

/// In one frame; of a message, and of a stack, what there is room for.
[[nodiscard]] std::string encode_exception(const events::ThrownException& thrown);
/// Reads it again. Nothing where the text is malformed.
[[nodiscard]] std::optional<events::ThrownException> decode_exception(std::string_view text);

/// Methods whose names are known, by their code.
class NamedMethods {
 public:
  struct Method {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  ///< Behind its last byte.
    profile::Frame frame;
  };

  /// One more. Where there is no room for it, it is left out.
  void add(Method method);
  /// Whose code is at the address; null where none is known. Valid until the next add().
  [[nodiscard]] const profile::Frame* find(std::uint64_t address) const;

 private:
  std::map<std::uint64_t, Method> by_begin_;
  std::size_t held_ = 0;
};

/// In one frame; of a name what there is room for.
[[nodiscard]] std::string encode_method(const NamedMethods::Method& method);
/// Reads it again. Nothing where the text is malformed.
[[nodiscard]] std::optional<NamedMethods::Method> decode_method(std::string_view text);

}  // namespace farport::router
