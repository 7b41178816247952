#include "router/mirror/answers.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/core.h>

#include "router/wire/http_status.hpp"
#include "router/wire/runtime.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Http2Stream;
using transport::Io;
using transport::IoStatus;
using transport::Task;

/// A runtime's line has a fifth of this at most: a runtime says who it is in 64 KiB.
constexpr std::size_t kMaxLine = 1024 * 1024;
/// Why a request was refused, in words.
constexpr std::size_t kMaxRefusal = 64 * 1024;
/// How long an answer may pause.
constexpr transport::Milliseconds kSilence{20'000};

}  // namespace

Task<Result<std::string>> read_answer(Http2Stream& answer, std::size_t most) {
  const IoStatus head = co_await answer.head_received();
  if (head != IoStatus::ok) co_return tl::unexpected(answer.error());
  auto body = co_await read_body(answer.head(), answer, most);
  co_return body;
}

Task<Result<std::string>> read_body(const transport::MessageHead& head, transport::Stream& from,
                                    std::size_t most) {
  if (head.status != http_status::kOk) most = std::min(most, kMaxRefusal);
  std::string body;
  std::vector<std::byte> part(16 * 1024);
  for (;;) {
    const transport::Deadline silence(from.loop(), kSilence, [&from] {
      from.abort(Error{"read", "the agent's answer", "it does not go on", {}, ETIMEDOUT});
    });
    const Io io = co_await from.read(part);
    if (io.status == IoStatus::failed) co_return tl::unexpected(from.error());
    if (io.status == IoStatus::end) break;
    body.append(reinterpret_cast<const char*>(part.data()), io.bytes);
    if (body.size() > most) {
      co_return fail("read", "the agent's answer", fmt::format("it has more than {} bytes", most));
    }
  }
  if (head.status == http_status::kOk) co_return body;
  const RefusedRequest refused = error_from_json(body);
  const Cause cause = refused.hresult ? Cause::runtime(*refused.hresult) : Cause::http(head.status);
  const Error why{"use", "the agent", refused.why, {}, cause};
  co_return tl::unexpected(why);
}

Task<std::optional<std::string>> AnswerLines::next() {
  std::vector<std::byte> part(4096);
  for (;;) {
    const std::size_t end = buffered_.find('\n', searched_);
    if (end != std::string::npos) {
      std::string line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      searched_ = 0;
      co_return line;
    }
    searched_ = buffered_.size();
    if (searched_ > kMaxLine) {
      broken_ =
          Error{"read", "the agent's answer", fmt::format("a line has more than {} bytes", kMaxLine), {}, 0};
      co_return std::nullopt;
    }
    const Io io = co_await answer_.read(part);
    if (io.status != IoStatus::ok) co_return std::nullopt;
    buffered_.append(reinterpret_cast<const char*>(part.data()), io.bytes);
  }
}

}  // namespace farport::router
