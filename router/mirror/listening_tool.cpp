#include "router/mirror/listening_tool.hpp"

#include <algorithm>

#include <sys/socket.h>

#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

// As the runtime's own loop has them (DiagnosticServer's poll of connect ports).
constexpr Milliseconds kFirstRedial{10};
constexpr Milliseconds kLongestRedial{500};
constexpr Milliseconds kConnectLimit{2000};

/// Whether a command has begun to come; otherwise the tool is gone. Nothing is taken from the stream.
Task<bool> command_comes(transport::FdStream& tool) {
  co_await tool.readable();
  char first = 0;
  const ssize_t seen = ::recv(tool.fd(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  co_return seen == 1;
}

}  // namespace

Task<void> dial_listening_tool(transport::Loop& loop, std::string path, ipc::Advertise advertise,
                               std::function<void(std::unique_ptr<transport::FdStream>)> on_command) {
  const auto greeting = ipc::encode_advertise(advertise);
  for (Milliseconds pause = kFirstRedial;;) {
    bool served = false;
    auto tool = co_await transport::connect_unix(loop, path, kConnectLimit);
    if (tool) {
      const transport::IoStatus said = co_await (*tool)->write(greeting);
      if (said == transport::IoStatus::ok) served = co_await command_comes(**tool);
    }
    if (served) {
      on_command(std::move(*tool));
      pause = kFirstRedial;
      continue;
    }
    tool = tl::unexpected(Error{});
    co_await transport::sleep(loop, pause);
    pause = std::min(pause * 5 / 4 + Milliseconds{1}, kLongestRedial);
  }
}

}  // namespace farport::router
