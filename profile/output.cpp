#include "profile/output.hpp"

#include <nlohmann/json.hpp>

#include "base/escape.hpp"

namespace farport::profile {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

}  // namespace

Result<void> Output::finish() {
  flush();
  return state_;
}

void Output::flush_if_large() {
  if (pending_.size() >= kPieceBytes) flush();
}

void Output::flush() {
  handed_on_ += pending_.size();
  if (good() && handed_on_ > kMaxBytes) {
    state_ = fail("write the profile", "", "it takes more than 2 GiB in this form",
                  "choose another form: an .html file is far smaller");
  }
  if (good() && !pending_.empty()) state_ = sink_(pending_);
  pending_.clear();
}

std::string json_string(std::string_view text) {
  const std::string quoted = nlohmann::json(escape(text)).dump();
  std::string safe;
  safe.reserve(quoted.size());
  for (const char each : quoted) {
    if (each == '<') {
      safe += "\\u003c";
    } else {
      safe += each;
    }
  }
  return safe;
}

}  // namespace farport::profile
