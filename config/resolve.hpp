// From flags, environment and file to settings: flags win over the environment, the environment over the
// file.
#pragma once

#include <optional>
#include <string_view>

#include "config/file.hpp"
#include "config/flags.hpp"

namespace farport::config {

/// What every command's settings are put together from.
/// The file that a command reads with its flags laid over it. Collects problems while settings are put
/// together: nothing that it returns counts once there is one.
class Resolver {
 public:
  /// `command`: whose flags count. They must outlive it.
  Resolver(const Flags& flags, std::string_view command);

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] bool ok() const { return problems_.empty(); }
  [[nodiscard]] Problems take_problems() { return std::move(problems_); }
  void problem(std::string text) { problems_.push_back(std::move(text)); }
  /// The settings, where there is no problem. Call it last.
  template <typename Settings>
  Resolved<Settings> finished(Settings settings) {
    if (!ok()) return tl::unexpected(take_problems());
    return settings;
  }

  /// What the text says; nothing where it is wrong, which is a problem then.
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
  /// As it is set, else as the environment has it.
  ProxyChoice proxy();
  /// That there are all files that TLS takes.
  void require_tls(const TlsFiles& tls, const std::string& what_for);

  /// A remote by HOST:PORT or profile.
  std::optional<RemoteSettings> remote(const std::string& text);
  /// The remote that is behind --via or --accept; nothing where neither is given.
  std::optional<RemoteSettings> flagged();
  /// All that are named, AGENT or AGENT/RUNTIME.
  std::vector<RemoteSettings> remotes();
  /// The same where there must be one.
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

/// Each takes flags that the environment has already filled up, reads the file that they name (or, but for
/// serve, the user's own where there is one) and checks that the whole makes sense.
[[nodiscard]] Resolved<ServeSettings> resolve_serve(const Flags& flags);
[[nodiscard]] Resolved<ConnectSettings> resolve_connect(const Flags& flags);
[[nodiscard]] Resolved<PsSettings> resolve_ps(const Flags& flags);
[[nodiscard]] Resolved<DoctorSettings> resolve_doctor(const Flags& flags);
[[nodiscard]] Resolved<CanISettings> resolve_can_i(const Flags& flags);
[[nodiscard]] Resolved<DumpCommandSettings> resolve_dump(const Flags& flags);
[[nodiscard]] Resolved<TraceSettings> resolve_trace(const Flags& flags);
[[nodiscard]] Resolved<CountersSettings> resolve_counters(const Flags& flags);
[[nodiscard]] Resolved<TopSettings> resolve_top(const Flags& flags);
[[nodiscard]] Resolved<LogsSettings> resolve_logs(const Flags& flags);
/// Of `exceptions` and `stacks`, which have no settings of their own.
[[nodiscard]] Resolved<RecordingSettings> resolve_recording(const Flags& flags, std::string_view command);
[[nodiscard]] Resolved<ProfileSettings> resolve_profile(const Flags& flags);
[[nodiscard]] Resolved<GcdumpSettings> resolve_gcdump(const Flags& flags);
[[nodiscard]] Resolved<RunSettings> resolve_run(const Flags& flags);

}  // namespace farport::config
