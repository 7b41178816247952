// Starting the helper processes that take profiles and read recordings.
#pragma once

#include <memory>

#include "base/log.hpp"
#include "config/settings.hpp"
#include "router/agent/sampler/sampler_process.hpp"
#include "router/readers/reader_process.hpp"

namespace farport::cli {

/// Starts the sampler as the current user, before the process has keys or threads, and confines it by the
/// settings. If that fails, logs it and returns null; no profiles can be taken then.
[[nodiscard]] std::shared_ptr<const router::SamplerProcess> start_sampler(
    const config::ServeSettings& settings, const Log& log);

/// The same for the process that starts readers of recordings.
[[nodiscard]] std::shared_ptr<const router::ReaderProcess> start_readers(
    const config::ServeSettings& settings, const Log& log);

/// The same for a command, whose readers parse what a runtime sends, which may be anything. Call it before a
/// loop is made. Each reader runs `work`, with the data it refers to in its current state. Fails if no
/// process can be started.
[[nodiscard]] Result<router::ReaderProcess> start_readers(const config::RemoteSettings& remote,
                                                          router::ReaderWork work);

}  // namespace farport::cli
