// Raw mode (docs/wire.md): a connection to the agent that is one diagnostic connection by itself.
#pragma once

#include "router/agent/gate/admission.hpp"

namespace farport::router {

/// A diagnostic connection that is a TLS or TCP connection by itself.
class RawEndpoint final : public ToolEndpoint {
 public:
  explicit RawEndpoint(transport::Stream& stream) : stream_(stream) {}
  [[nodiscard]] transport::Stream& stream() override { return stream_; }
  void accept(bool) override {}
  void allow_text() override { has_text_ = true; }
  transport::Task<void> refuse(Refusal refusal) override;

 private:
  transport::Stream& stream_;
  bool has_text_ = false;
};

/// Leaves closing to the peer: the side that closes first may cut off what the other hasn't read yet.
transport::Task<void> linger(transport::Stream& stream);

}  // namespace farport::router
