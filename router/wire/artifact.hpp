// Artifact: what an agent keeps in its directory, for those who come later.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// The kind of an artifact with the last minutes of a runtime that has ended.
inline constexpr std::string_view kCrash = "crash";

/// The ending of a kept heap's file. It has all that the runtime reported; its reader makes the objects.
inline constexpr std::string_view kHeapEventsEnding = ".heap.nettrace";

/// What was recorded of a runtime that has ended, or what somebody had the agent take and keep.
struct Artifact {
  enum class State : std::uint8_t {
    under_way,  ///< It is being taken.
    whole,
    cut,  ///< It ends early.
  };

  std::string id;        ///< Letters, digits, "-", "_" and ".". Ids sort by time.
  std::string kind;      ///< kCrash, or the command that takes one such as this: "trace", "dump".
  std::string ending;    ///< Of a file's name: ".nettrace".
  Runtime runtime;       ///< As it was listed last.
  std::string time;      ///< When a crash's process ended, or when this was asked for; UTC, RFC 3339.
  std::string taken_by;  ///< Who asked for it, for people; empty if nobody did.
  std::string cause{};   ///< What a rule saw that took it; empty if none did.
  std::string owner;     ///< The same as a digest, for the gate.
  std::string why;       ///< How a crash's process ended, or why this is cut; empty if that is not known.
  std::string gaps{};    ///< What its content lacks though nothing is cut, such as names; empty if nothing.
  std::vector<std::string> permissions;  ///< What a caller needs to have it: all of these.
  State state = State::whole;
  bool in_order = false;               ///< Whether a crash's process ended with exit code 0.
  std::uint32_t seconds = 0;           ///< How far a crash's recording goes back.
  std::uint64_t bytes = 0;             ///< What it takes on the disk, compressed.
  std::uint64_t size = 0;              ///< Of its content; 0 if that is made for each who gets it.
  std::vector<std::string> sent_to{};  ///< The stores that have it.
  std::string sha256{};                ///< Of its content, in hexadecimal; empty as long as there is none.
  /// The store to which its content goes while it is being taken. Nothing of that is kept; empty: it is.
  std::string only_in{};
  std::uint32_t stops_for = 0;  ///< About how long that stops the application, in seconds.

  /// The name for a file with its content.
  [[nodiscard]] std::string file_name() const { return id + ending; }
};

[[nodiscard]] std::string_view to_string(Artifact::State state);

/// Whether an artifact's id may have this letter.
[[nodiscard]] bool is_artifact_id_letter(char letter);
/// Whether a text may be an artifact's id. It can be a part of a file's name, then.
[[nodiscard]] bool is_artifact_id(std::string_view text);

/// An object with these members, and kernel_pid.
[[nodiscard]] std::string to_json(const Artifact& artifact);
/// An array of such objects.
[[nodiscard]] std::string to_json(const std::vector<Artifact>& all);
/// Its id, and its ending, may be a part of a file's name.
[[nodiscard]] Result<Artifact> artifact_from_json(std::string_view text);
[[nodiscard]] Result<std::vector<Artifact>> artifacts_from_json(std::string_view text);

/// A line of the answer to GET /v1/artifacts?watch=true
enum class ArtifactEvent : std::uint8_t {
  changed,   ///< There may be something new.
  stopping,  ///< The agent is being stopped, once who watches has what is there.
};

[[nodiscard]] std::string to_json_line(ArtifactEvent event);
/// Fails if the line is no event.
[[nodiscard]] Result<ArtifactEvent> artifact_event_from_json(std::string_view line);

}  // namespace farport::router
