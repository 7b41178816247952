// farport convert: makes a flame graph or other files from a recording.
#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/files.hpp"
#include "base/unique_fd.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/heap_output.hpp"
#include "cli/output/output.hpp"
#include "cli/output/profile_output.hpp"
#include "cli/terminal/table.hpp"
#include "events/sampled_profile.hpp"
#include "nettrace/reader.hpp"

namespace farport::cli {
namespace {

constexpr std::size_t kFilePieceBytes = 1 << 20;

Result<void> read_file(const std::string& path, nettrace::Handler& to) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("read", path, errno);
  nettrace::Reader reader(to);
  std::vector<std::byte> piece(kFilePieceBytes);
  for (;;) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read", path, errno);
    if (got == 0) return reader.finish();
    RETURN_IF_ERROR(reader.feed(std::span(piece).first(static_cast<std::size_t>(got))));
  }
}

/// "orders" for "/tmp/orders.nettrace".
std::string stem_of(const std::string& path) {
  const std::string_view name = file_of(path);
  return std::string(name.substr(0, name.rfind('.')));
}

/// Whether the output is one of a heap.
bool is_of_heap(const std::string& output) {
  return output.ends_with(".gcdump") || output.ends_with(".heap.json");
}

/// Makes the objects, or the types, of a heap that was recorded: what agents keep of one, and what
/// dotnet-trace records with --profile gc-collect.
int convert_heap(const config::ConvertSettings& settings) {
  const auto file = open_heap_output(settings.output, settings.force);
  if (!file) return report_output(file.error());
  const HeapForm form{settings.output, 0, true, {}};
  HeapLines heap(form, 0, {{}, stem_of(settings.input)}, [&file](std::string_view piece) -> Result<void> {
    return (*file)->append(std::as_bytes(std::span(piece)));
  });
  REPORT_IF_ERROR(read_file(settings.input, heap));
  REPORT_IF_ERROR(heap.take_end());
  print_messages(heap.take_notices());
  const Result<void> kept = keep_output(file->get());
  return kept ? kSuccess : report(kept.error());
}

int convert(const config::ConvertSettings& settings) {
  if (is_of_heap(settings.output)) return convert_heap(settings);
  const ProfileOutput output{settings.output, settings.force, settings.top};
  auto file = open_output(output);
  if (!file) return report_output(file.error());
  events::SampledProfile samples(keep_for(output));
  const Result<void> read = read_file(settings.input, samples);
  profile::Profile taken = samples.take();
  if (taken.samples.empty()) {
    if (!read) return report(read.error());
    return report(Error{"convert", settings.input, "it contains no stack samples",
                        "record with --profile dotnet-sampled-thread-time"});
  }
  // An incomplete recording is used as far as it goes.
  if (!read) print_message(read.error().message() + "; the data before that point is used");
  taken.process = stem_of(settings.input);
  const auto written = write_output(taken, output, std::move(*file));
  return written ? kSuccess : report(written.error());
}

constexpr const char* kConvertAbout =
    "Converts the stack samples in a recording of farport trace or dotnet-trace into a flame graph or\n"
    "another format. The recording needs the profile dotnet-sampled-thread-time, one of the defaults.\n"
    "Of a heap that an agent has kept (.heap.nettrace), makes a .gcdump or a .heap.json with the types.";
constexpr const char* kConvertExamples = R"(Examples:
  farport convert orders.nettrace -o orders.html
  farport convert orders.nettrace --top
  farport convert orders.heap.nettrace -o orders.gcdump)";

RunCommand add_convert_options(CLI::App& options, config::Flags& flags) {
  std::ignore = flags;
  const auto into = std::make_shared<config::ConvertSettings>();
  options.add_option("FILE", into->input, ".nettrace file with stack samples, or a heap")->required();
  options.add_option("-o,--output", into->output, kProfileForms)->type_name("FILE");
  options.add_flag("--force", into->force, "Replace an existing file");
  add_top(options, into->top);

  return [into] { return convert(*into); };
}

}  // namespace

const Command kConvert{"convert", "Convert a recording into a flame graph", kConvertAbout, kConvertExamples,
                       add_convert_options};

}  // namespace farport::cli
