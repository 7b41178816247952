#include "router/agent/connections/raw_endpoint.hpp"

#include "ipc/error.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// How long a peer may take to close after it has been told everything.
constexpr transport::Milliseconds kLinger{5000};

}  // namespace

Task<void> RawEndpoint::refuse(Refusal refusal) {
  const ipc::Bytes answer = ipc::encode_error(refusal.hresult, has_text_ ? refusal.why : std::string());
  const IoStatus written = co_await stream_.write(answer);
  if (written == IoStatus::ok) std::ignore = co_await stream_.finish();
}

Task<void> linger(transport::Stream& stream) {
  const transport::Deadline limit(stream.loop(), kLinger, [&stream] {
    stream.abort(Error{"wait for", "the peer", "it does not close its side", {}, 0});
  });
  co_await stream.discard();
}

}  // namespace farport::router
