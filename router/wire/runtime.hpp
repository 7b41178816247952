// Runtime: what both hosts know about a runtime, its events and its process, also in JSON
// (docs/developers/wire.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"

namespace farport::router {

enum class RuntimeState : std::uint8_t { running, suspended };

/// "running" or "suspended".
[[nodiscard]] std::string_view to_string(RuntimeState state);

/// What keeps a runtime from answering.
enum class Halt : std::uint8_t {
  none,
  stopped,  ///< By a signal or a debugger.
  frozen,   ///< By its cgroup, as in a paused container.
  silent,   ///< It does not answer for another reason.
};

/// "stopped", "frozen" or "silent"; empty for `none`.
[[nodiscard]] std::string_view to_string(Halt halt);
/// The halt of that name; `none` for any other text.
[[nodiscard]] Halt halt_named(std::string_view name);

/// The container that a process is in, as far as it is known without asking an engine. The kernel provides
/// the id. The rest is what the container says of itself: show it to people, but don't base decisions on it.
struct Container {
  std::string id;    ///< 64 hexadecimal digits; empty if it is in none, or in an unknown kind.
  std::string name;  ///< Its name in the pod; may be empty.
  std::string pod;   ///< The pod's name; may be empty.
  bool operator==(const Container&) const = default;

  /// The names of the pod and the container, or else a short id like that in the engines' lists.
  [[nodiscard]] std::string text() const;
};

/// A runtime as it is listed.
struct Runtime {
  std::string id;         ///< The runtime cookie: a GUID in its usual form, lower case.
  std::uint64_t pid = 0;  ///< In the process's own pid namespace.
  std::string name;       ///< The configured name, or the entry assembly's, or the command's.
  std::string command_line;
  std::string os;
  std::string architecture;
  std::string version;  ///< The runtime's product version, such as "10.0.1".
  /// Part of a program that was compiled ahead of time (NativeAOT), which CoreCLR's tools know little of.
  bool native = false;
  RuntimeState state = RuntimeState::running;
  Halt halt = Halt::none;
  uid_t user = 0;     ///< The process's user, according to the agent's kernel.
  std::string host;   ///< The agent's name for its host; in a pod, the pod's name. May be empty.
  std::string since;  ///< The start of the process, or when the agent found it; UTC, RFC 3339.
  /// The pid in the process's own pid namespace according to the agent's kernel; 0 if that can't be read.
  /// Grants use this one, since `pid` is what the process says of itself.
  std::uint64_t kernel_pid = 0;
  /// The pid in the agent's pid namespace, which is the one that people at that host see. 0 if both
  /// namespaces are the same, or the agent can't see the process.
  std::uint64_t host_pid = 0;
  Container container;
  /// The address of its agent: "10.1.2.3:9000". Set by the side that asks the agent, and not transmitted.
  std::string address{};

  bool operator==(const Runtime&) const = default;
};

/// A runtime as it was listed at one moment. Everything that deals with it shares it.
using RuntimePtr = std::shared_ptr<const Runtime>;

/// One word for its condition: what keeps it from answering, or else its state.
[[nodiscard]] std::string_view condition_of(const Runtime& runtime);

/// The error for recording a runtime that is suspended at its start. Nothing happens in it, and .NET 10
/// crashes when it goes on if a session was started and stopped before.
[[nodiscard]] Error is_suspended(const Runtime& runtime);

/// A time as RFC 3339 in UTC, in seconds.
[[nodiscard]] std::string utc_text(std::chrono::system_clock::time_point time);
/// The inverse; empty if the text is no such time.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> utc_time(const std::string& text);

/// A change of a runtime, as an agent reports it.
struct RuntimeEvent {
  /// `listed` follows the last runtime that existed when watching began.
  enum class Kind : std::uint8_t { added, changed, removed, listed };
  Kind kind = Kind::added;
  Runtime runtime;
};

/// "added", "changed", "removed" or "listed".
[[nodiscard]] std::string_view to_string(RuntimeEvent::Kind kind);

/// An object with id, pid, name, command_line, os, architecture, version, state, user, host, since; and
/// native, halt, host_pid and container if there is something to tell.
[[nodiscard]] std::string to_json(const Runtime& runtime);
/// An array of such objects.
[[nodiscard]] std::string to_json(const std::vector<Runtime>& runtimes);
/// {"event":"added","runtime":{…}} and a newline.
[[nodiscard]] std::string to_json_line(const RuntimeEvent& event);

/// Parses them. Errors say what is missing or has the wrong type. Unknown members are ignored.
[[nodiscard]] Result<std::vector<Runtime>> runtimes_from_json(std::string_view text);
[[nodiscard]] Result<RuntimeEvent> event_from_json(std::string_view line);

/// {"error":"…"}: why a request was refused; with the HRESULT for the tool if there is one.
[[nodiscard]] std::string error_json(std::string_view why, std::optional<std::uint32_t> hresult = {});

/// The content of such an object. If the body is no such object, `why` is the beginning of the body.
struct RefusedRequest {
  std::string why;
  std::optional<std::uint32_t> hresult;
};
[[nodiscard]] RefusedRequest error_from_json(std::string_view body);

/// The name that stock tools show for a mirror's placeholder of the runtime, and that their -n matches. Linux
/// keeps 15 bytes of a process's name, which .NET completes from the first two words of the command line. So
/// an application that was started as `dotnet Foo.dll` is "Foo.dll".
[[nodiscard]] std::string tool_name(const Runtime& runtime);

/// The name that stock tools show on the runtime's own host: that of its program ("dotnet").
[[nodiscard]] std::string program_name(const Runtime& runtime);

/// Whether `wanted` names this runtime. It may be its id, a pid (its own or its host's), its name, or what
/// stock tools call it here or on its own host ("Foo", "Foo.dll" and "dotnet" for `dotnet Foo.dll`). Each may
/// be followed by @PLACE: its pod, POD/CONTAINER or container as `farport ps` shows them; the agent's name
/// for its host; or the agent's address, with or without the port. `*` and `?` are wildcards in the place,
/// the name, and the first word of the command line.
[[nodiscard]] bool names_runtime(std::string_view wanted, const Runtime& runtime);

/// Whether one of these texts names the runtime; true if there are none.
[[nodiscard]] bool is_selected(const std::vector<std::string>& wanted, const Runtime& runtime);

/// Chooses the runtime that a person means by `wanted` (see names_runtime), or the only one if the text is
/// empty. Returns its index. Errors offer a unique text for each runtime that fits, or for all if none fits;
/// `cause` is ESRCH if there are no runtimes at all, or none fits.
[[nodiscard]] Result<std::size_t> choose_runtime(std::string_view wanted,
                                                 const std::vector<const Runtime*>& runtimes);

/// What the kernel knows of a runtime's process, for those who wait for the runtime's answer.
struct ProcessCondition {
  Halt halt = Halt::none;     ///< Stopped or frozen.
  bool traced = false;        ///< A debugger holds it.
  bool ending = false;        ///< It is exiting.
  std::uint32_t threads = 0;  ///< 0 if the process isn't visible to the agent.
  std::uint32_t running = 0;  ///< How many of them run, or are ready to.
  std::uint32_t in_disk = 0;  ///< How many wait for a disk or for memory, and can't be interrupted.
  bool runnable = false;      ///< Some thread has been running, or ready to, for a while.
  double cores = 0;           ///< How many processors it has recently kept busy.
  std::uint64_t memory = 0;   ///< What it uses, in bytes; 0 if unknown.
  /// How much of its own it may write to, used or not, in bytes; 0 if unknown.
  std::uint64_t own_memory = 0;

  /// Whether it makes progress, however slowly.
  [[nodiscard]] bool is_busy() const;
};

/// A description for people, such as "its process is stopped, by a signal", and what to do about it.
struct ConditionWords {
  std::string text;
  std::string hint;  ///< May be empty.
};
[[nodiscard]] ConditionWords describe(const ProcessCondition& condition, const Runtime& runtime);

/// {"halt":…,"traced":…,"ending":…,"threads":…,"running":…,"in_disk":…,"runnable":…,"cores":…,"memory":…,"own_memory":…}
[[nodiscard]] std::string to_json(const ProcessCondition& condition);
[[nodiscard]] Result<ProcessCondition> process_condition_from_json(std::string_view text);

/// One row of the answer to GET /v1/access (docs/developers/wire.md): whether the caller may do something.
struct AccessRow {
  std::string command;
  std::string runtime;    ///< Its name; empty if the row is about no particular runtime.
  std::uint64_t pid = 0;  ///< The runtime's.
  bool allowed = false;
  std::string rule;
  std::string role;
  std::string why;
};
[[nodiscard]] Result<std::vector<AccessRow>> access_from_json(std::string_view text);

}  // namespace farport::router
