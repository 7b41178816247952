#include "transport/offload.hpp"

#include <cstdlib>
#include <memory>
#include <utility>

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
  // It fails only where there is no function.
  if (failed != 0) std::abort();
}

Offload::~Offload() {
  if (request_ != nullptr) request_->owner = nullptr;
}

}  // namespace farport::transport
