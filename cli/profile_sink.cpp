#include "cli/profile_sink.hpp"

namespace farport::cli {

transport::Task<Result<void>> ProfileSink::take(std::shared_ptr<const Piece> piece) {
  co_return reader_.feed(std::span(piece->bytes).first(piece->size));
}

profile::Profile ProfileSink::take_profile() {
  profile::Profile made = samples_.take();
  made.process = process_;
  return made;
}

}  // namespace farport::cli
