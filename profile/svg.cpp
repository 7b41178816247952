#include <algorithm>

#include "base/escape.hpp"
#include "profile/form.hpp"
#include "profile/profile.hpp"

namespace farport::profile {
namespace {

// In pixels.
constexpr double kWidth = 1200;
constexpr double kNarrowest = 0.2;
constexpr double kNarrowestText = 30;
constexpr std::size_t kRowHeight = 18;
constexpr std::size_t kTitleHeight = 56;

constexpr std::size_t kMaxRows = 1000;

struct Box {
  CallId call = kRoot;
  double left = 0;
  std::size_t row = 0;
};

/// `text` escaped for people, then for XML, which also excludes U+FFFE and U+FFFF (XML 1.0, section 2.2).
std::string xml_text(std::string_view text) {
  std::string safe;
  std::string_view rest;
  const std::string escaped = escape(text);
  for (rest = escaped; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    const char32_t character = utf8_character(rest, length);
    if (character == U'<') {
      safe += "&lt;";
    } else if (character == U'>') {
      safe += "&gt;";
    } else if (character == U'&') {
      safe += "&amp;";
    } else if (character == 0xFFFE || character == 0xFFFF) {
      safe += "\xEF\xBF\xBD";
    } else {
      safe += rest.substr(0, length);
    }
    rest.remove_prefix(length);
  }
  return safe;
}

class Picture {
 public:
  Picture(const Profile& profile, Output& out)
      : profile_(profile),
        out_(out),
        children_(profile.calls),
        totals_(tally(profile.calls, profile.samples.counts()).total),
        boxes_(lay_out()) {}

  void write() {
    put_svg_head();
    for (const Box& box : boxes_) {
      if (!out_.good()) return;
      put_box(box);
    }
    out_.put("</svg>\n");
  }

 private:
  [[nodiscard]] double width_of(CallId call) const {
    return static_cast<double>(totals_[call]) * kWidth / std::max(1.0, static_cast<double>(totals_[kRoot]));
  }

  [[nodiscard]] std::string label(CallId call) const {
    return call == kRoot ? profile_.process : label_of(profile_.frames[profile_.calls.frame(call)]);
  }

  /// The boxes row by row, and within each call its children by name.
  [[nodiscard]] std::vector<Box> lay_out() const {
    std::vector<Box> boxes{{}};
    for (std::size_t at = 0; at < boxes.size(); ++at) {
      const Box caller = boxes[at];
      if (caller.row + 1 == kMaxRows) break;
      double left = caller.left;
      for (const CallId call : seen_children(caller.call)) {
        boxes.push_back({call, left, caller.row + 1});
        left += width_of(call);
      }
    }
    return boxes;
  }

  /// The children wide enough to be seen, ordered by name.
  [[nodiscard]] std::vector<CallId> seen_children(CallId caller) const {
    const auto seen = [&](CallId call) { return width_of(call) >= kNarrowest; };
    const auto before = [&](CallId one, CallId other) { return label(one) < label(other); };
    std::vector<CallId> children;
    std::copy_if(children_.of(caller).begin(), children_.of(caller).end(), std::back_inserter(children),
                 seen);
    std::sort(children.begin(), children.end(), before);
    return children;
  }

  [[nodiscard]] std::size_t rows() const { return boxes_.back().row + 1; }

  void put_svg_head() {
    out_.print(R"(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}">
<style>
text {{ font: 12px monospace; fill: #14181d }}
.title {{ font: bold 17px sans-serif }}
.summary {{ font: 13px sans-serif }}
.all {{ fill: #c4c8d0 }} .managed {{ fill: #a2e2bd }} .runtime {{ fill: #a3c0e8 }} .native {{ fill: #e6d6a0 }} .kernel {{ fill: #e6b29e }}
svg svg:hover rect {{ stroke: #000000 }}
</style>
<rect width="100%" height="100%" fill="#ffffff"/>
<text class="title" x="8" y="22">{2}</text>
<text class="summary" x="8" y="42">{3}</text>
)",
               kWidth, kTitleHeight + rows() * kRowHeight, xml_text(profile_.process),
               xml_text(summary_of(profile_)));
  }

  /// A nested picture, which clips the text to the box.
  void put_box(const Box& box) {
    const double width = width_of(box.call);
    const std::string name = xml_text(label(box.call));
    const std::string_view kind =
        box.call == kRoot ? "all" : name_of(profile_.frames[profile_.calls.frame(box.call)].kind);
    out_.print(
        R"(<svg x="{:.2f}" y="{}" width="{:.2f}" height="{}"><title>{} ({} samples, {:.1f} %, {})</title>)",
        box.left, kTitleHeight + (rows() - 1 - box.row) * kRowHeight, width, kRowHeight - 1, name,
        totals_[box.call], 100 * width / kWidth, kind);
    out_.print(R"(<rect class="{}" width="{:.2f}" height="{}"/>)", kind, std::max(width - 0.5, kNarrowest),
               kRowHeight - 1);
    if (width >= kNarrowestText) out_.print(R"(<text x="3" y="13">{}</text>)", name);
    out_.put("</svg>\n");
  }

  const Profile& profile_;
  Output& out_;
  Children children_;
  std::vector<std::uint64_t> totals_;
  std::vector<Box> boxes_;
};

}  // namespace

void write_svg(const Profile& profile, Output& out) {
  Picture(profile, out).write();
}

}  // namespace farport::profile
