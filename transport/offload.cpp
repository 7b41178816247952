#include "transport/offload.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
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

struct Offload::Request {
  uv_work_t uv{};
  std::function<void()> work;
  Offload* owner = nullptr;
};

Offload::Offload(Loop& loop, std::function<void()> work) : done_(loop), request_(new Request) {
  request_->work = std::move(work);
  request_->owner = this;
  request_->uv.data = request_;
  const int failed = uv_queue_work(
      loop.uv(), &request_->uv, [](uv_work_t* uv) { static_cast<Request*>(uv->data)->work(); },
      [](uv_work_t* uv, int) {
        const std::unique_ptr<Request> request(static_cast<Request*>(uv->data));
        if (request->owner == nullptr) return;
        request->owner->request_ = nullptr;
        request->owner->done_.set();
      });
  // It fails only if no function is given.
  if (failed != 0) std::abort();
}

Offload::~Offload() {
  if (request_ != nullptr) request_->owner = nullptr;
}

Task<Result<void>> run_detached(Loop& loop, std::function<void()> work, std::optional<Milliseconds> limit) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) co_return fail_errno("start", "a thread", errno);
  FdStream ended(loop, UniqueFd(ends[0]), "a thread");
  // Nothing is ever written: the other end sees that the thread's end is closed.
  auto thread_end = std::make_shared<UniqueFd>(ends[1]);
  // Set by the thread. Read once the pipe is closed, which is the last thing that the thread does.
  const auto failure = std::make_shared<std::optional<std::string>>();
  int no_thread = 0;
  try {
    std::thread([work = std::move(work), failure, held = std::move(thread_end)] {
      // An exception that escapes from a thread would end the program.
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
  if (limit) deadline.emplace(loop, *limit, [&ended] { ended.abort(Error{"wait", {}, "too long"}); });
  co_await ended.readable();
  if (deadline && deadline->expired()) co_return fail("wait for", "a thread", "it takes too long");
  if (*failure) co_return fail("work on", "a thread", **failure);
  co_return Result<void>{};
}

}  // namespace farport::transport
