// The file formats that a profile can be written in.
#pragma once

#include <cstdint>
#include <string_view>

#include "profile/output.hpp"
#include "profile/profile.hpp"

namespace farport::profile {

/// Writes folded stacks, one line each, as FlameGraph's scripts and many other tools read them
/// (https://github.com/brendangregg/FlameGraph): "PROCESS;OUTERMOST;…;INNERMOST SAMPLES", with all threads
/// merged. As in FlameGraph, managed frames end in _[j] and kernel frames in _[k]. Samples that waited have
/// an additional frame "[waiting]".
void write_folded(const Profile& profile, Output& out);

/// Writes an interactive flame graph as a self-contained page; profile/page/ has its appearance. The page
/// holds the profile as JSON, which its script draws. Besides numbers and names of the profiled process, the
/// members are:
///
/// - kinds, modules: names;
/// - names, frameModules, frameKinds: for each frame its name, and its indexes in modules and kinds;
/// - frames, back: for each call but the root, its frame, and how far before it its caller is;
/// - counts: call, index in threads, 1 or 0 for waiting, samples; repeated.
void write_html(const Profile& profile, Output& out);

/// Writes samples as `perf script` prints them, for FlameGraph's stackcollapse-perf.pl and, if the file's
/// name ends in .data.txt, for PerfView. Each sample, ordered by time, has a line "THREAD PID/TID [CPU]
/// SECONDS: NANOSECONDS cpu-clock: ", a line "ADDRESS NAME+0x0 (MODULE)" for each frame, the innermost first,
/// and an empty line. Seconds are since 1970. Samples that waited end in a frame "[waiting]".
///
/// PerfView assumes that a sample lasts until the next one on the same processor. So each thread gets a
/// processor number of its own, and after a gap an event "idle" of process 0 ends the previous sample, as the
/// kernel's idle process would. FlameGraph ignores events with another name than the first one's.
void write_perf_script(const Profile& profile, Output& out);

/// Writes pprof's profile.proto, compressed, for `go tool pprof`, Grafana and Parca
/// (https://github.com/google/pprof/blob/main/proto/profile.proto). Values: samples/count, and
/// cpu/nanoseconds or wall/nanoseconds. Labels: thread, thread_id, and state, "waiting", for samples that
/// waited. Frames without a name have their address and their module's build id, so that they can be
/// symbolised later.
void write_pprof(const Profile& profile, Output& out);

/// Writes speedscope's format (https://www.speedscope.app/file-format-schema.json): a sampled profile for
/// each thread, in nanoseconds. Samples that waited end in a frame "[waiting]".
void write_speedscope(const Profile& profile, Output& out);

/// Writes a flame graph as a static picture, with all threads merged and the root at the bottom. The title of
/// a box, which programs show as a tooltip, has its name and cost. Boxes too narrow to be seen and calls
/// deeper than a thousand are left out.
void write_svg(const Profile& profile, Output& out);

enum class Form : std::uint8_t {
  html,         ///< Interactive flame graph in one file.
  svg,          ///< Flame graph as a picture.
  speedscope,   ///< speedscope's JSON.
  pprof,        ///< profile.proto, compressed.
  perf_script,  ///< As `perf script` prints it.
  folded,       ///< Folded stacks, a line each.
};

/// The format for a file name, by its ending. The error lists all endings.
[[nodiscard]] Result<Form> form_of(std::string_view path);

/// What the format needs of samples. A profile that keeps less is written without them.
[[nodiscard]] Keep keep_for(Form form);

/// Writes the file to `sink` in pieces. Names from a runtime (of methods, modules, threads and the process)
/// are escaped for the format and never reach a file or terminal raw. Memory use depends on the number of
/// different samples, not on the file's size. Fails with the sink's error, or if the file would exceed
/// kMaxBytes.
[[nodiscard]] Result<void> write_profile(const Profile& profile, Form form, Sink sink);

}  // namespace farport::profile
