// The processes that take profiles and read recordings.
#pragma once

#include <memory>

#include "base/log.hpp"
#include "config/settings.hpp"
#include "router/agent/sampler/sampler_process.hpp"
#include "router/readers/reader_process.hpp"

namespace farport::cli {

/// Starts it: as the user that this process has become, before it has keys or threads, and confines it as
/// the settings say. Null where there can be none, which is logged: nothing is profiled then.
[[nodiscard]] std::shared_ptr<const router::SamplerProcess> start_sampler(
    const config::ServeSettings& settings, const Log& log);

/// The same of the one that starts readers of recordings.
[[nodiscard]] std::shared_ptr<const router::ReaderProcess> start_readers(
    const config::ServeSettings& settings, const Log& log);

/// The same on the user's side: readers of what a runtime says to a command, which may be anything. To be
/// called before there is a loop. `work` is done by each, with what it refers to as that is now. Errors:
/// there can be none.
[[nodiscard]] Result<router::ReaderProcess> start_readers(const config::RemoteSettings& remote,
                                                          router::ReaderWork work);

}  // namespace farport::cli
