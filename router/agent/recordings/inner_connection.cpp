#include "router/agent/recordings/inner_connection.hpp"

#include <array>
#include <cerrno>

#include <sys/socket.h>

#include "ipc/error.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

Refusal unanswered(const Error& why) {
  return {http_status::kBadGateway, ipc::hresult::kFail, why.message()};
}

}  // namespace

Result<std::unique_ptr<InnerConnection>> InnerConnection::open(transport::Loop& loop,
                                                               DiagnosticConnections& connections,
                                                               const Caller& caller, RuntimePtr runtime) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("open", "a connection of the agent's own", errno);
  auto made = std::make_unique<InnerConnection>(loop, UniqueFd(ends[0]), UniqueFd(ends[1]));
  made->carrying_.spawn(connections.carry(caller, std::move(runtime), made->endpoint_));
  return made;
}

InnerConnection::InnerConnection(transport::Loop& loop, UniqueFd tool, UniqueFd agent)
    : endpoint_(loop, std::move(agent)), carrying_(loop) {
  tool_.emplace(loop, std::move(tool), "the agent");
}

Task<void> InnerConnection::Endpoint::refuse(Refusal refusal) {
  refused_ = std::move(refusal);
  std::ignore = co_await stream_.finish();
}

Task<tl::expected<ipc::Message, Refusal>> InnerConnection::ask(ipc::Message command) {
  const auto question = ipc::encode_message(command);
  if (!question) co_return tl::unexpected(unanswered(question.error()));
  const IoStatus written = co_await tool_->write(*question);
  if (written != IoStatus::ok) co_return tl::unexpected(unanswered(tool_->error()));
  const auto answer = co_await read_first_message(*tool_);
  if (endpoint_.refused()) co_return tl::unexpected(*endpoint_.refused());
  if (!answer) co_return tl::unexpected(unanswered(answer.error()));
  auto message = ipc::decode_message(answer->bytes);
  if (!message) co_return tl::unexpected(unanswered(message.error()));
  co_return std::move(*message);
}

Task<void> InnerConnection::end() {
  tool_.reset();
  co_await carrying_.idle();
}

}  // namespace farport::router
