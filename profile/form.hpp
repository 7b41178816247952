// The files that a profile can become.
#pragma once

#include <cstdint>
#include <string_view>

#include "profile/output.hpp"
#include "profile/profile.hpp"

namespace farport::profile {

/// Folded stacks: a line for each stack, as FlameGraph's scripts and many others read them
/// (https://github.com/brendangregg/FlameGraph).
/// "PROCESS;OUTERMOST;…;INNERMOST SAMPLES", all threads as one. As FlameGraph marks them, managed frames end
/// in _[j], kernel frames in _[k]. Samples that waited have a frame more, "[waiting]".
void write_folded(const Profile& profile, Output& out);

/// A flame graph as a page that needs nothing else: profile/page/ is what it looks like.
/// The page with the profile in it as JSON, which its script draws. Members, beside numbers and names of what
/// is profiled:
/// - kinds, modules: names; names, frameModules, frameKinds: of each frame, the last two places in the first;
/// - frames, back: of each call but the root, its frame, and how far before it its caller is;
/// - counts: call, place in threads, 1 or 0 for waiting, samples; and so on.
void write_html(const Profile& profile, Output& out);

/// Samples as `perf script` prints them, for FlameGraph's stackcollapse-perf.pl and, where the file's name
/// ends in .data.txt, PerfView.
/// For each sample, by time, the line "THREAD PID/TID [CPU] SECONDS: NANOSECONDS cpu-clock: ", a line
/// "ADDRESS NAME+0x0 (MODULE)" for each frame, the innermost first, and an empty one. Seconds are since 1970.
/// Samples that waited end in a frame "[waiting]".
///
/// PerfView takes it that a sample lasts until the next of the same processor. So each thread has a number of
/// its own there, and where its samples are not close together, an event "idle" of the process 0 ends the one
/// before, as the kernel's idle process would. FlameGraph leaves events of another name than the first one's
/// out.
void write_perf_script(const Profile& profile, Output& out);

/// pprof's profile.proto, compressed: `go tool pprof`, Grafana and Parca read it
/// (https://github.com/google/pprof/blob/main/proto/profile.proto).
/// Values: samples/count, and cpu/nanoseconds or wall/nanoseconds. Labels: thread, thread_id, and state,
/// "waiting", of samples that waited. Frames without a name have their address and their module's build id,
/// so that they can be looked up.
void write_pprof(const Profile& profile, Output& out);

/// speedscope's own format (https://www.speedscope.app/file-format-schema.json).
/// A sampled profile for each thread, in nanoseconds. Samples that waited end in a frame "[waiting]".
void write_speedscope(const Profile& profile, Output& out);

/// A flame graph as a picture.
/// All threads as one, the root below. Nothing in it runs: what a box is, and took, is its title, which
/// programs show below the mouse. Boxes too narrow to be seen, and calls deeper than a thousand, are left
/// out.
void write_svg(const Profile& profile, Output& out);

enum class Form : std::uint8_t {
  html,         ///< A flame graph, interactive, in one file.
  svg,          ///< A flame graph, as a picture.
  speedscope,   ///< speedscope's JSON.
  pprof,        ///< profile.proto, compressed.
  perf_script,  ///< As `perf script` prints it.
  folded,       ///< Folded stacks, a line each.
};

/// Which one a file's name asks for, by how it ends. An error says which there are.
[[nodiscard]] Result<Form> form_of(std::string_view path);

/// What it takes of samples. A profile that keeps less is written without them.
[[nodiscard]] Keep keep_for(Form form);

/// Writes the file to `sink`, in pieces. What a runtime says (names of methods, modules, threads, itself) is
/// escaped as the form takes it, and never reaches a file or terminal raw. Memory: what counting the samples
/// takes, not the file's size. Errors: the sink's; a file that would be too large (kMostBytes).
[[nodiscard]] Result<void> write_profile(const Profile& profile, Form form, Sink sink);

}  // namespace farport::profile
