#include "profile/frame.hpp"

#include <fmt/core.h>

#include "base/escape.hpp"

namespace farport::profile {
namespace {

std::size_t hash_of(const Frame& frame) {
  const std::hash<std::string> of_text;
  std::size_t hash = of_text(frame.name);
  hash = hash * 31 + of_text(frame.module);
  hash = hash * 31 + frame.address;
  return hash * 31 + static_cast<std::size_t>(frame.kind);
}

}  // namespace

std::string_view name_of(FrameKind kind) {
  switch (kind) {
    case FrameKind::managed:
      return "managed";
    case FrameKind::runtime:
      return "runtime";
    case FrameKind::native:
      return "native";
    case FrameKind::kernel:
      return "kernel";
  }
  return {};
}

std::string label_of(const Frame& frame) {
  if (!frame.name.empty()) return frame.name;
  if (frame.module.empty()) return fmt::format("{:#x}", frame.address);
  return fmt::format("{}+{:#x}", frame.module, frame.address);
}

std::string safe_label_of(const Frame& frame) {
  return escape(label_of(frame));
}

FrameId FrameTable::add(Frame frame) {
  const std::size_t hash = hash_of(frame);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto each = begin; each != end; ++each) {
    if (frames_[each->second] == frame) return each->second;
  }
  const auto id = static_cast<FrameId>(frames_.size());
  frames_.push_back(std::move(frame));
  by_hash_.emplace(hash, id);
  return id;
}

}  // namespace farport::profile
