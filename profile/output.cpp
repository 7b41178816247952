#include "profile/output.hpp"

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
  if (good() && handed_on_ > kMostBytes) {
    state_ = fail("write the profile", "", "it takes more than 2 GiB in this form",
                  "choose another form: an .html file is far smaller");
  }
  if (good() && !pending_.empty()) state_ = sink_(pending_);
  pending_.clear();
}

}  // namespace farport::profile
