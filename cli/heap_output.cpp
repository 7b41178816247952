#include "cli/heap_output.hpp"

#include <cstdio>
#include <limits>
#include <span>
#include <string_view>

#include <unistd.h>

#include "cli/heap_report.hpp"
#include "cli/output_path.hpp"
#include "cli/text.hpp"
#include "heap/json.hpp"

namespace farport::cli {
namespace {

constexpr std::string_view kObjectFile = ".gcdump";
constexpr std::string_view kTypeFile = ".json";
constexpr std::size_t kUsualTypes = 25;

std::size_t types_asked_for(const config::GcdumpSettings& settings, std::size_t otherwise) {
  return settings.top > 0 ? settings.top : otherwise;
}

std::string types_as_json(const heap::Heap& heap, const heap::Origin& origin,
                          const config::GcdumpSettings& settings) {
  return heap::to_json(heap, origin.process,
                       types_asked_for(settings, std::numeric_limits<std::size_t>::max()));
}

Result<void> print_all(std::string_view text) {
  const bool printed =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (printed) return {};
  return fail_errno("write to", "standard output", errno);
}

Result<void> print_heap(const heap::Heap& heap, const heap::Origin& origin,
                        const config::GcdumpSettings& settings) {
  if (settings.format == "json") return print_all(types_as_json(heap, origin, settings));
  const std::size_t width = terminal_size(STDOUT_FILENO).columns;
  return print_all(heap_table(heap, types_asked_for(settings, kUsualTypes), width));
}

Result<void> write_heap_file(OutputFile& file, heap::Heap heap, const heap::Origin& origin,
                             const config::GcdumpSettings& settings) {
  if (wants_objects(settings)) {
    const auto to_file = [&file](std::span<const std::byte> piece) { return file.append(piece); };
    return heap::write_gcdump(std::move(heap), origin, to_file);
  }
  const std::string text = types_as_json(heap, origin, settings);
  return file.append(std::as_bytes(std::span(text)));
}

}  // namespace

bool wants_objects(const config::GcdumpSettings& settings) {
  return settings.output.ends_with(kObjectFile);
}

Result<std::unique_ptr<OutputFile>> open_output(const config::GcdumpSettings& settings) {
  const std::string& path = settings.output;
  if (path.empty()) return nullptr;
  if (!path.ends_with(kObjectFile) && !path.ends_with(kTypeFile))
    return fail("write the heap to", path, "its name doesn't say what it is", "end it in .gcdump or .json");
  return OutputFile::create("the heap", output_path(path, {}, {}),
                            settings.force ? OutputFile::Existing::replace : OutputFile::Existing::refuse,
                            OutputFile::Named::once_kept);
}

Result<void> write_output(heap::Heap heap, const heap::Origin& origin, const config::GcdumpSettings& settings,
                          std::unique_ptr<OutputFile> file) {
  if (file == nullptr) return print_heap(heap, origin, settings);
  if (settings.top > 0) {
    const Result<void> printed = print_heap(heap, origin, settings);
    if (!printed) return printed;
  }
  Result<void> written = write_heap_file(*file, std::move(heap), origin, settings);
  if (!written) return written;
  Result<void> kept = file->keep();
  if (!kept) return kept;
  return print_all((::isatty(STDOUT_FILENO) != 0 ? escape(file->path()) : file->path()) + "\n");
}

}  // namespace farport::cli
