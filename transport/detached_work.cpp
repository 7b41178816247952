#include "transport/detached_work.hpp"

#include <array>
#include <cerrno>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "transport/fd_stream.hpp"
#include "transport/timer.hpp"

namespace farport::transport {

Task<Result<void>> run_detached(Loop& loop, std::function<void()> work, std::optional<Milliseconds> limit) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) co_return fail_errno("start", "a thread", errno);
  FdStream ended(loop, UniqueFd(ends[0]), "a thread");
  // Nothing is written: closing the thread's end is what the other end sees.
  auto thread_end = std::make_shared<UniqueFd>(ends[1]);
  // Read once the pipe is closed, which comes after all that the thread does.
  const auto failure = std::make_shared<std::optional<std::string>>();
  int no_thread = 0;
  try {
    std::thread([work = std::move(work), failure, held = std::move(thread_end)] {
      // What escapes from a thread would end the program.
      try {
        work();
      } catch (const std::exception& error) {
        *failure = error.what();
      }
    }).detach();
  } catch (const std::system_error& error) {
    no_thread = error.code().value();
  }
  if (no_thread != 0) co_return fail_errno("start", "a thread", no_thread);
  std::optional<Deadline> deadline;
  if (limit) deadline.emplace(loop, *limit, [&ended] { ended.abort(Error{"wait", {}, "too long", {}, 0}); });
  co_await ended.readable();
  if (deadline && deadline->expired()) co_return fail("wait for", "a thread", "it takes too long");
  if (*failure) co_return fail("work on", "a thread", **failure);
  co_return Result<void>{};
}

}  // namespace farport::transport
