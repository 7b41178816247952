// A frame of a stack, as people read it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace farport::profile {

/// Whose code it is.
enum class FrameKind : std::uint8_t {
  managed,  ///< .NET code, compiled while it runs or before.
  runtime,  ///< The runtime's own libraries.
  native,   ///< Other libraries and programs.
  kernel,
};
inline constexpr std::array kFrameKinds{FrameKind::managed, FrameKind::runtime, FrameKind::native,
                                        FrameKind::kernel};

/// As it is called in tables and files: "managed".
[[nodiscard]] std::string_view name_of(FrameKind kind);

struct Frame {
  FrameKind kind = FrameKind::native;
  std::string name;  ///< "Orders.Pricing.Quote(int32)", "memcpy". Empty where it is not known.
  std::string
      module;  ///< The file that the code is from, without its directory. Empty where it is not known.
  // Where the name is not known, so that it can be looked up later:
  std::string build_id;       ///< The module's, in hexadecimal.
  std::uint64_t address = 0;  ///< In the module, as its symbols count; without a module, in the process.

  bool operator==(const Frame&) const = default;
};

/// What is shown of a frame: its name, or its module and address.
[[nodiscard]] std::string label_of(const Frame& frame);
/// The same, escaped: a runtime says what its methods are called.
[[nodiscard]] std::string safe_label_of(const Frame& frame);

using FrameId = std::uint32_t;

/// Each frame once.
class FrameTable {
 public:
  /// The id of a frame that is equal; it is added where there is none.
  FrameId add(Frame frame);
  [[nodiscard]] const Frame& operator[](FrameId id) const { return frames_[id]; }
  [[nodiscard]] std::size_t size() const { return frames_.size(); }
  /// Gives a frame that had none its name. Ids stay, though others may be equal now.
  void name(FrameId id, std::string name) { frames_[id].name = std::move(name); }

 private:
  std::vector<Frame> frames_;
  std::unordered_multimap<std::size_t, FrameId> by_hash_;
};

}  // namespace farport::profile
