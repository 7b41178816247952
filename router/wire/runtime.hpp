// A runtime as farport knows it, on either side.
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
  stopped,  ///< By a signal, or by a debugger.
  frozen,   ///< With its cgroup, as a paused container is.
  silent,   ///< It does not answer, and nothing of the above is why.
};

/// "stopped", "frozen" or "silent"; empty for none.
[[nodiscard]] std::string_view to_string(Halt halt);
/// The opposite; none for any other text.
[[nodiscard]] Halt halt_named(std::string_view name);

/// The container that a process is in, as far as it can be told without asking an engine. But for the id,
/// which is the kernel's, these are words of the container's own: for people, and not for decisions.
struct Container {
  std::string id;    ///< 64 hexadecimal digits; empty: it is in none, or in one of an unknown kind.
  std::string name;  ///< As its pod calls it; may be empty.
  std::string pod;   ///< The pod's name; may be empty.
  bool operator==(const Container&) const = default;
};

struct Runtime {
  std::string id;         ///< The runtime cookie: a GUID in its usual form, lower case.
  std::uint64_t pid = 0;  ///< In the runtime's own pid namespace.
  std::string name;       ///< The configured name, else the entry assembly's, else the command's.
  std::string command_line;
  std::string os;
  std::string architecture;
  std::string version;  ///< The runtime's product version, such as "10.0.1".
  RuntimeState state = RuntimeState::running;
  Halt halt = Halt::none;
  uid_t user = 0;     ///< Whose process it is, by the agent's kernel.
  std::string host;   ///< As the agent calls its host; in a pod, the pod's name. May be empty.
  std::string since;  ///< When its process began, else when the agent found it: UTC, RFC 3339.
  /// Its pid by the agent's kernel, in the runtime's own pid namespace; 0 where that can't be seen. Grants go
  /// by this one, since `pid` is what the process says of itself.
  std::uint64_t kernel_pid = 0;
  /// Its pid in the agent's pid namespace: the one that people at that host know. 0 where that is the
  /// runtime's own namespace, and where the agent can't see the process.
  std::uint64_t host_pid = 0;
  Container container;
  /// Where its agent answers: "10.1.2.3:9000". Known to those who ask the agent, and not on the wire.
  std::string address{};

  bool operator==(const Runtime&) const = default;
};

/// A runtime as it was listed at some moment, shared by all that deal with it.
using RuntimePtr = std::shared_ptr<const Runtime>;

/// How it is, in a word: what keeps it from answering, else its state.
[[nodiscard]] std::string_view condition_of(const Runtime& runtime);

/// Why a runtime is not asked to record while it is suspended at its start: nothing happens in it, and .NET
/// 10 crashes once it goes on if a session has been begun and stopped before.
[[nodiscard]] Error is_suspended(const Runtime& runtime);

/// A time as RFC 3339 in UTC, to the second.
[[nodiscard]] std::string utc_text(std::chrono::system_clock::time_point time);

/// What has happened to a runtime, as an agent tells it.
struct RuntimeEvent {
  /// `listed` stands after the last runtime that was there when watching began.
  enum class Kind : std::uint8_t { added, changed, removed, listed };
  Kind kind = Kind::added;
  Runtime runtime;
};

/// "added", "changed", "removed" or "listed".
[[nodiscard]] std::string_view to_string(RuntimeEvent::Kind kind);

// Runtimes and what happens to them, as JSON: the API's words (docs/wire.md).

/// One object: id, pid, name, command_line, os, architecture, version, state, user, host, since; host_pid and
/// container where there are any.
[[nodiscard]] std::string to_json(const Runtime& runtime);
/// An array of such objects.
[[nodiscard]] std::string to_json(const std::vector<Runtime>& runtimes);
/// {"event":"added","runtime":{…}} and a newline.
[[nodiscard]] std::string to_json_line(const RuntimeEvent& event);

/// The reverse. Errors say what is missing or of the wrong type; unknown members are ignored.
[[nodiscard]] Result<std::vector<Runtime>> runtimes_from_json(std::string_view text);
[[nodiscard]] Result<RuntimeEvent> event_from_json(std::string_view line);

/// {"error":"…"}: why a request was refused; with the HRESULT that a tool is to be told, where there is one.
[[nodiscard]] std::string error_json(std::string_view why, std::optional<std::uint32_t> hresult = {});

/// What such an object says; as `why` the body itself, shortened, where that is no such object.
struct RefusedRequest {
  std::string why;
  std::optional<std::uint32_t> hresult;
};
[[nodiscard]] RefusedRequest error_from_json(std::string_view body);

// What runtimes are called, by tools and by people.

/// The name that stock tools show for the runtime where a mirror stands for it, and that their -n matches:
/// .NET completes a process's name, of which Linux keeps 15 bytes, from the first two words of its command
/// line. So an application that was started as `dotnet Foo.dll` is "Foo.dll".
[[nodiscard]] std::string tool_name(const Runtime& runtime);

/// The name that they show on the runtime's own host: its program's ("dotnet").
[[nodiscard]] std::string program_name(const Runtime& runtime);

/// Whether `wanted` names this runtime: its id, its pid (its own and its host's), its name or what stock
/// tools call it, here and on its own host ("Foo", "Foo.dll" and "dotnet" for `dotnet Foo.dll`), each alone
/// or followed by @PLACE: its pod, POD/CONTAINER or container, as `farport ps` shows them; what the agent
/// calls its host; or the address at which it answers, with its port or without. `*` and `?` are wildcards
/// for the place, the name and the command line's first word.
[[nodiscard]] bool names_runtime(std::string_view wanted, const Runtime& runtime);

/// The one of `runtimes` that a person means by `wanted` (see names_runtime); with an empty text, the only
/// one. Returns its index. Errors say what to write instead: for each runtime that fits (for all of them
/// where none does) a text that names it and no other; ESRCH where there are no runtimes at all.
[[nodiscard]] Result<std::size_t> choose_runtime(std::string_view wanted,
                                                 const std::vector<const Runtime*>& runtimes);

// What the kernel knows of a runtime's process: for those who wait for its answer.

struct ProcessCondition {
  Halt halt = Halt::none;     ///< Stopped or frozen.
  bool traced = false;        ///< A debugger holds it.
  bool ending = false;        ///< It is on its way out.
  std::uint32_t threads = 0;  ///< 0: the process isn't visible to the agent.
  std::uint32_t running = 0;  ///< Of them, those that run, or could.
  std::uint32_t in_disk = 0;  ///< Those that wait for a disk, or for memory, and can't be interrupted.
  double cores = 0;           ///< How many processors all of them have kept busy, just now.
  std::uint64_t memory = 0;   ///< What it holds, in bytes; 0: not known.

  /// Whether it gets on with something, however slowly.
  [[nodiscard]] bool is_busy() const;
};

/// What it looks like, for people: "its process is stopped, by a signal", with what to do as the hint.
struct ConditionWords {
  std::string text;
  std::string hint;  ///< May be empty.
};
[[nodiscard]] ConditionWords describe(const ProcessCondition& condition, const Runtime& runtime);

/// {"halt":…,"traced":…,"ending":…,"threads":…,"running":…,"in_disk":…,"cores":…,"memory":…}
[[nodiscard]] std::string to_json(const ProcessCondition& condition);
[[nodiscard]] Result<ProcessCondition> process_condition_from_json(std::string_view text);

// What a caller may do, as the agent tells it: GET /v1/access from the side that asks (docs/wire.md).

/// One line of such an answer.
struct AccessRow {
  std::string command;
  std::string runtime;    ///< The name; empty: any that no grant is about in particular.
  std::uint64_t pid = 0;  ///< The runtime's.
  bool allowed = false;
  std::string rule;
  std::string role;
  std::string why;
};
[[nodiscard]] Result<std::vector<AccessRow>> access_from_json(std::string_view text);

}  // namespace farport::router
