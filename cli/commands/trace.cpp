// farport trace: records a remote runtime to a file.
#include "cli/commands/record_trace.hpp"
#include "cli/options/commands.hpp"
#include "router/wanted/providers.hpp"

namespace farport::cli {

int trace(const config::TraceSettings& settings) {
  auto wanted =
      router::recording_of(settings.profiles, settings.providers, settings.rundown, settings.buffer_mb);
  if (!wanted) return report(wanted.error(), kUsage);
  const config::StoppingEventSettings& stopping = settings.stopping_event;
  auto filter = events::EventFilter::parse(stopping.provider, stopping.event, stopping.payload);
  if (!filter) return report(filter.error(), kUsage);
  return record_trace(settings, std::move(*wanted), *filter);
}

}  // namespace farport::cli
