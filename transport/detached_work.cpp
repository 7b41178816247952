#include "transport/detached_work.hpp"

#include <array>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "transport/fd_stream.hpp"
#include "transport/timer.hpp"

namespace farport::transport {

Task<bool> run_detached(Loop& loop, std::function<void()> work, std::optional<Milliseconds> limit) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) co_return false;
  FdStream ended(loop, UniqueFd(ends[0]), "a thread");
  // Nothing is written: closing the thread's end is what the other end sees.
  auto thread_end = std::make_shared<UniqueFd>(ends[1]);
  try {
    std::thread([work = std::move(work), held = std::move(thread_end)] { work(); }).detach();
  } catch (const std::system_error&) {
    co_return false;
  }
  std::optional<Deadline> deadline;
  if (limit) deadline.emplace(loop, *limit, [&ended] { ended.abort(Error{"wait", {}, "too long", {}, 0}); });
  co_await ended.readable();
  co_return !deadline || !deadline->expired();
}

}  // namespace farport::transport
