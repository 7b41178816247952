#include "cli/output/heap_output.hpp"

#include <limits>
#include <span>
#include <string_view>

#include "cli/output/heap_report.hpp"
#include "cli/output/output_path.hpp"
#include "heap/heap.hpp"

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

std::string heap_lines(const heap::Heap& heap, const heap::Origin& origin,
                       const config::GcdumpSettings& settings, std::size_t width) {
  if (!settings.output.empty() && settings.top == 0) return {};
  if (settings.format == "json") return types_as_json(heap, origin, settings);
  return heap_table(heap, types_asked_for(settings, kUsualTypes), width);
}

Result<void> write_heap(heap::Heap heap, const heap::Origin& origin, const config::GcdumpSettings& settings,
                        const std::function<void(std::string_view)>& to) {
  if (!wants_objects(settings)) {
    to(types_as_json(heap, origin, settings));
    return {};
  }
  return heap::write_gcdump(std::move(heap), origin, [&to](std::span<const std::byte> piece) -> Result<void> {
    to({reinterpret_cast<const char*>(piece.data()), piece.size()});
    return {};
  });
}

}  // namespace farport::cli
