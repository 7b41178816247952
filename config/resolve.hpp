// Resolver: combines flags, environment and file into settings; flags override the environment, which
// overrides the file.
#pragma once

#include <optional>
#include <string_view>

#include "config/file.hpp"
#include "config/flags.hpp"

namespace farport::config {

/// The configuration of a command: its file with its flags applied. Collects problems while settings are
/// made; once there is one, the results don't count.
class Resolver {
 public:
  /// `command`: only its flags apply. Both arguments must outlive the object.
  Resolver(const Flags& flags, std::string_view command);

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] bool ok() const { return problems_.empty(); }
  [[nodiscard]] Problems take_problems() { return std::move(problems_); }
  void problem(std::string text) { problems_.push_back(std::move(text)); }
  /// The settings, or the problems. Call it last.
  template <typename Settings>
  Resolved<Settings> finished(Settings settings) {
    if (!ok()) return tl::unexpected(take_problems());
    return settings;
  }

  /// The parsed value; empty if the text is invalid, which is recorded as a problem.
  template <typename Parse>
  auto parsed(const std::string& text, Parse parse) {
    auto value = parse(text);
    using Value = typename decltype(value)::value_type;
    if (value) return std::optional<Value>(std::move(*value));
    problem(value.error().message());
    return std::optional<Value>();
  }

  [[nodiscard]] LogSettings log() const;
  [[nodiscard]] bool log_level_given() const { return !configuration_.log.level.empty(); }
  /// The proxy that is set, or else the environment's.
  ProxyChoice proxy();
  /// Checks that all files needed for TLS are given.
  void require_tls(const TlsFiles& tls, const std::string& what_for);

  /// A remote, by HOST:PORT or profile.
  std::optional<RemoteSettings> remote(const std::string& text);
  /// The remote given by --via or --accept; empty if neither is.
  std::optional<RemoteSettings> flagged();
  /// All remotes that are named as AGENT or AGENT/RUNTIME.
  std::vector<RemoteSettings> remotes();
  /// The same; having none is a problem.
  std::vector<RemoteSettings> some_remotes();

 private:
  [[nodiscard]] bool can_select() const;
  [[nodiscard]] std::string no_such_profile(const std::string& text) const;
  [[nodiscard]] std::string file_path() const;
  std::optional<RemoteSettings> completed(RemoteSettings remote, const std::string& text);
  void complete(TlsFiles& own) const;

  const Flags& flags_;
  std::string_view command_;
  Configuration configuration_;
  Problems problems_;
};

/// Each function takes flags that the environment has already completed, reads the file that they name (or,
/// except for serve, the user's own if it exists) and checks the settings as a whole. `settings` has what the
/// command line sets in it.
[[nodiscard]] Resolved<ServeSettings> resolve_serve(const Flags& flags);
[[nodiscard]] Resolved<ConnectSettings> resolve_connect(const Flags& flags);
[[nodiscard]] Resolved<PsSettings> resolve_ps(const Flags& flags, std::string_view command);
[[nodiscard]] Resolved<ArtifactsSettings> resolve_artifacts(const Flags& flags,
                                                            ArtifactsSettings settings = {});
[[nodiscard]] Resolved<DoctorSettings> resolve_doctor(const Flags& flags);
[[nodiscard]] Resolved<CanISettings> resolve_can_i(const Flags& flags);
[[nodiscard]] Resolved<DumpCommandSettings> resolve_dump(const Flags& flags,
                                                         DumpCommandSettings settings = {});
[[nodiscard]] Resolved<TraceSettings> resolve_trace(const Flags& flags, TraceSettings settings = {});
[[nodiscard]] Resolved<CountersSettings> resolve_counters(const Flags& flags, CountersSettings settings = {});
[[nodiscard]] Resolved<TopSettings> resolve_top(const Flags& flags, TopSettings settings = {});
[[nodiscard]] Resolved<LogsSettings> resolve_logs(const Flags& flags, LogsSettings settings = {});
/// For `exceptions` and `stacks`, which have no settings of their own.
[[nodiscard]] Resolved<RecordingSettings> resolve_recording(const Flags& flags, std::string_view command);
[[nodiscard]] Resolved<RecentSettings> resolve_recent(const Flags& flags);
[[nodiscard]] Resolved<ProfileSettings> resolve_profile(const Flags& flags, ProfileSettings settings = {});
[[nodiscard]] Resolved<GcdumpSettings> resolve_gcdump(const Flags& flags, GcdumpSettings settings = {});
[[nodiscard]] Resolved<RunSettings> resolve_run(const Flags& flags);

}  // namespace farport::config
