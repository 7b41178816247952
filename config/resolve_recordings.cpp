// Settings of the commands that record or examine one runtime, and of top.
#include <algorithm>

#include "config/resolve.hpp"
#include "config/values.hpp"

namespace farport::config {
namespace {

/// Sets the agent and the runtime that the command is about.
template <typename Settings>
void take_target(Resolver& resolver, const Flags& flags, Settings& settings) {
  const std::string& text = flags.target;
  const Target target = split_target(text);
  if (auto behind = resolver.flagged()) {
    settings.remote = std::move(*behind);
    settings.runtime = text;
  } else if (target.agent.empty()) {
    resolver.problem("no agent is named: give AGENT or AGENT/RUNTIME, or --via");
  } else if (auto remote = resolver.remote(target.agent)) {
    settings.remote = std::move(*remote);
    settings.runtime = target.runtime;
  }
  if (flags.runtime.empty()) return;
  if (!settings.runtime.empty()) {
    resolver.problem("two runtimes are named, \"" + settings.runtime + "\" and \"" + flags.runtime +
                     "\": give AGENT/RUNTIME, or AGENT with -n or -p");
  }
  settings.runtime = flags.runtime;
}

/// Sets the interval between counter values, if it is given.
void take_interval(Resolver& resolver, const Flags& flags, Milliseconds& interval) {
  if (flags.interval.empty()) return;
  if (const auto given = resolver.parsed(flags.interval, parse_time_span)) interval = *given;
}

/// Sets how long to wait for a runtime, if it is given.
void take_patience(Resolver& resolver, const Flags& flags, PatienceSettings& patience) {
  if (flags.timeout.empty()) return;
  const auto limit = resolver.parsed(flags.timeout, parse_time_span);
  if (limit) patience = {*limit, true};
}

/// Sets what all recording commands have in common.
void take_recording(Resolver& resolver, const Flags& flags, RecordingSettings& settings) {
  take_target(resolver, flags, settings);
  if (!flags.duration.empty()) settings.duration = resolver.parsed(flags.duration, parse_time_span);
  take_patience(resolver, flags, settings.patience);
  settings.output = flags.output;
  settings.force = flags.force;
  settings.format = flags.format;
  settings.session = resolver.configuration().session;
}

/// Checks the URLs. The message names none, since a URL may contain a password.
void check_servers(Resolver& resolver, const std::vector<std::string>& urls) {
  const auto is_usable = [](const std::string& url) {
    const std::size_t scheme = url.find("://");
    const bool is_http = url.starts_with("http://") || url.starts_with("https://");
    return is_http && url.size() > scheme + 3 && std::all_of(url.begin(), url.end(), [](char c) {
             return c > ' ' && c < 0x7F && std::string_view("\"\\#?").find(c) == std::string_view::npos;
           });
  };
  if (std::all_of(urls.begin(), urls.end(), is_usable)) return;
  resolver.problem(
      "a symbol server is no URL that can be asked: give http:// or https://, a host, and a path");
}

}  // namespace

namespace {

/// `others`: whether there are options that only the command itself can follow.
void take_keep(Resolver& resolver, const Flags& flags, bool others, bool& keep) {
  keep = flags.keep;
  if (!keep) return;
  if (!flags.output.empty() || flags.force)
    resolver.problem("--keep leaves it at the agent: it takes no --output and no --force");
  if (others) resolver.problem("--keep has the agent take it, which knows fewer options: see --help");
}

}  // namespace

Resolved<DumpCommandSettings> resolve_dump(const Flags& flags, DumpCommandSettings settings) {
  Resolver resolver(flags, "dump");
  take_target(resolver, flags, settings);
  take_patience(resolver, flags, settings.patience);
  settings.output = flags.output;
  settings.force = flags.force;
  settings.session = resolver.configuration().session;
  if (settings.stay && !settings.output.empty()) {
    resolver.problem("--stay leaves the dump on the runtime's host: it takes no --output");
  }
  if (settings.stay && !settings.with_runtime.empty())
    resolver.problem("--stay leaves the dump on the runtime's host: it takes no --with-runtime");
  take_keep(resolver, flags, settings.stay, settings.keep);
  if (!flags.longest_stop.empty())
    settings.longest_stop = resolver.parsed(flags.longest_stop, parse_time_span).value_or(Milliseconds(0));
  if (!flags.longest_stop.empty() && settings.longest_stop.count() == 0)
    resolver.problem("--longest-stop must be longer than nothing");
  if (!flags.longest_stop.empty() && !settings.keep)
    resolver.problem("--longest-stop is for a dump that the agent has no room to keep: give --keep, too");
  return resolver.finished(std::move(settings));
}

Resolved<TraceSettings> resolve_trace(const Flags& flags, TraceSettings settings) {
  Resolver resolver(flags, "trace");
  take_recording(resolver, flags, settings);
  settings.at_start = flags.no_resume ? AtStart::left : AtStart::resumed;
  const bool stops_at_event = !settings.stopping_event.provider.empty();
  const bool sets_buffer = settings.buffer_mb != TraceSettings().buffer_mb;
  take_keep(resolver, flags, flags.no_resume || stops_at_event || sets_buffer, settings.keep);
  return resolver.finished(std::move(settings));
}

Resolved<CountersSettings> resolve_counters(const Flags& flags, CountersSettings settings) {
  Resolver resolver(flags, "counters");
  take_recording(resolver, flags, settings);
  take_interval(resolver, flags, settings.interval);
  return resolver.finished(std::move(settings));
}

Resolved<TopSettings> resolve_top(const Flags& flags, TopSettings settings) {
  Resolver resolver(flags, "top");
  settings.remotes = resolver.some_remotes();
  take_interval(resolver, flags, settings.interval);
  settings.session = resolver.configuration().session;
  settings.format = flags.format;
  return resolver.finished(std::move(settings));
}

Resolved<LogsSettings> resolve_logs(const Flags& flags, LogsSettings settings) {
  Resolver resolver(flags, "logs");
  take_recording(resolver, flags, settings);
  return resolver.finished(std::move(settings));
}

Resolved<RecordingSettings> resolve_recording(const Flags& flags, std::string_view command) {
  Resolver resolver(flags, command);
  RecordingSettings settings;
  take_recording(resolver, flags, settings);
  return resolver.finished(std::move(settings));
}

Resolved<RecentSettings> resolve_recent(const Flags& flags) {
  Resolver resolver(flags, "recent");
  RecentSettings settings;
  take_recording(resolver, flags, settings);
  settings.crash = flags.crash;
  if (!settings.crash.empty() && settings.duration)
    resolver.problem("--last has no meaning with --crash: all that was kept comes");
  return resolver.finished(std::move(settings));
}

Resolved<ProfileSettings> resolve_profile(const Flags& flags, ProfileSettings settings) {
  Resolver resolver(flags, "profile");
  take_recording(resolver, flags, settings);
  if (flags.event == "wall") settings.event = ProfileEvent::wall;
  take_keep(resolver, flags, settings.wall || settings.top > 0, settings.keep);
  settings.symbols = resolver.configuration().symbols;
  check_servers(resolver, settings.symbols.servers);
  return resolver.finished(std::move(settings));
}

Resolved<GcdumpSettings> resolve_gcdump(const Flags& flags, GcdumpSettings settings) {
  Resolver resolver(flags, "gcdump");
  take_recording(resolver, flags, settings);
  settings.duration = settings.patience.limit;
  take_keep(resolver, flags, settings.top > 0 || !settings.format.empty(), settings.keep);
  return resolver.finished(std::move(settings));
}

}  // namespace farport::config
