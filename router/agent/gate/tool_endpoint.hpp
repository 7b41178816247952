// The tool's end of a diagnostic connection, as it comes in to the agent.
#pragma once

#include "router/wire/http_status.hpp"
#include "router/wire/session_options.hpp"
#include "transport/stream.hpp"

namespace farport::router {

class ToolEndpoint {
 public:
  [[nodiscard]] virtual transport::Stream& stream() = 0;
  /// Whether what is sent to it shall be zstd, where the agent compresses in this way.
  [[nodiscard]] virtual bool wants_zstd(Compression) const { return false; }
  /// The runtime has answered: what is written to the stream from now on is its, as zstd if said so.
  virtual void accept(bool as_zstd) = 0;
  /// The command is GenerateCoreDump3, whose IPC error alone has room for words.
  virtual void allow_text() {}
  /// Tells the tool that nothing comes of it.
  virtual transport::Task<void> refuse(Refusal refusal) = 0;

 protected:
  ~ToolEndpoint() = default;
};

}  // namespace farport::router
