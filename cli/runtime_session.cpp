#include "cli/runtime_session.hpp"

#include "cli/session_options.hpp"
#include "router/mirror/found_route.hpp"

namespace farport::cli {

using transport::Task;

RuntimeSession::RuntimeSession(transport::Loop& loop, const router::MirroredAgent& agent,
                               const config::SessionSettings& settings,
                               router::SessionManager::OnEnd on_break)
    : loop_(loop),
      log_(make_silent_log()),
      agent_(agent),
      settings_(settings),
      on_break_(std::move(on_break)) {}

Task<Result<router::Runtime>> RuntimeSession::open(std::string wanted) {
  const auto found = co_await find_runtime(loop_, agent_, std::move(wanted), missing_);
  if (!found) co_return tl::unexpected(found.error());
  if (found->reach == nullptr) credentials_.emplace(loop_, log_, agent_.credentials);
  sessions_.emplace(loop_, log_,
                    router::found_route(loop_, log_, agent_, found->reach, found->addresses,
                                        credentials_ ? &*credentials_ : nullptr),
                    session_options(settings_));
  dialling_ = sessions_->run(router::ask_instance, on_break_);
  dialling_.start();
  co_return found->runtime;
}

Task<void> RuntimeSession::leave() {
  dialling_.reset();
  if (sessions_) co_await sessions_->leave();
}

}  // namespace farport::cli
