#include "cli/output/heap_output.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/escape.hpp"
#include "base/text.hpp"
#include "cli/output/output.hpp"
#include "cli/terminal/table.hpp"
#include "router/recordings/recordings.hpp"

namespace farport::cli {
namespace {

constexpr std::string_view kObjectFile = ".gcdump";
constexpr std::string_view kTypeFile = ".json";
constexpr std::size_t kUsualTypes = 25;

std::string heap_line(std::string_view bytes, std::string_view objects, const std::string& what,
                      std::size_t width) {
  return cut(fmt::format("{:>15}  {:>12}  {}", bytes, objects, what), width) + "\n";
}

/// A heap for people: the total, and a line for each of the `rows` largest types, at most `width` columns
/// wide; 0: no limit. Text from the runtime is escaped.
std::string heap_table(const heap::Heap& heap, std::size_t rows, std::size_t width) {
  std::string table = heap_line("BYTES", "OBJECTS", "TYPE", width);
  table +=
      heap_line(grouped(std::to_string(heap.bytes)), grouped(std::to_string(heap.objects)), "[all]", width);
  for (const heap::TypeId id : largest_types(heap, rows)) {
    const heap::Type& type = heap.types[id];
    const std::string module = type.module.empty() ? "" : "  [" + type.module + "]";
    table += heap_line(grouped(std::to_string(type.bytes)), grouped(std::to_string(type.objects)),
                       escape(label_of(type) + module), width);
  }
  return table;
}

std::size_t types_asked_for(const HeapForm& form, std::size_t otherwise) {
  return form.top > 0 ? form.top : otherwise;
}

std::string types_as_json(const heap::Heap& heap, const heap::Origin& origin, const HeapForm& form) {
  return heap::to_json(heap, origin.process, types_asked_for(form, std::numeric_limits<std::size_t>::max()));
}

/// Whether the file should hold each object with its references.
bool wants_objects(const HeapForm& form) {
  return form.output.ends_with(kObjectFile);
}

/// The output for standard output; empty if the heap goes to a file and no table is wanted.
std::string heap_lines(const heap::Heap& heap, const heap::Origin& origin, const HeapForm& form,
                       std::size_t width) {
  if (!form.output.empty() && form.top == 0) return {};
  if (form.json) return types_as_json(heap, origin, form);
  return heap_table(heap, types_asked_for(form, kUsualTypes), width);
}

/// Writes the file's content in pieces.
Result<void> write_heap(heap::Heap heap, const heap::Origin& origin, const HeapForm& form,
                        const HeapLines::TakeFile& to) {
  if (!wants_objects(form)) return to(types_as_json(heap, origin, form));
  return heap::write_gcdump(std::move(heap), origin, [&to](std::span<const std::byte> piece) -> Result<void> {
    if (piece.empty()) return {};
    return to({reinterpret_cast<const char*>(piece.data()), piece.size()});
  });
}

using KeptOfHeap = events::HeapWalk::Keep;

/// Fails if the heap's objects can't be written to a file.
Result<void> check_objects(const heap::Heap& heap, const std::string& path) {
  if (heap.graph) return {};
  return fail("write the heap to", path,
              heap.complete ? "the heap has too many objects"
                            : "the runtime dropped events for which its buffer had no room, so parts of the "
                              "heap are missing",
              "a .json file has the count of each type anyway");
}

/// What a reader is told, which has been started before that was known.
struct About {
  heap::Origin origin;
  std::string output{};  ///< HeapForm::output, if that was not known either.
};

std::string text_of(const About& about) {
  return about.origin.host + '\0' + about.origin.process + '\0' + about.output;
}

About about_in(std::string_view text) {
  About about;
  about.origin.host = take_until(text, '\0');
  about.origin.process = take_until(text, '\0');
  about.output = text;
  return about;
}

heap::Origin origin_of(const router::Runtime& runtime) {
  return {runtime.host, runtime.name};
}

}  // namespace

Result<std::unique_ptr<OutputFile>> open_heap_output(const std::string& path, bool force) {
  if (path.empty()) return nullptr;
  if (!path.ends_with(kObjectFile) && !path.ends_with(kTypeFile))
    return fail("write the heap to", path, "the file name's extension gives no known format",
                "use .gcdump or .json");
  return OutputFile::create("the heap", output_path(path, {}, {}),
                            force ? OutputFile::Existing::replace : OutputFile::Existing::refuse,
                            OutputFile::Named::on_commit);
}

HeapLines::HeapLines(HeapForm form, std::size_t width, heap::Origin origin, TakeFile take_file)
    : HeapFormatter(wants_objects(form) ? KeptOfHeap::objects : KeptOfHeap::types),
      form_(std::move(form)),
      width_(width),
      origin_(std::move(origin)),
      take_file_(std::move(take_file)) {}

Result<std::string> HeapLines::take_end() {
  if (!walk().ended() && !walk().lacks_parts())
    return fail(
        "read the heap of", origin_.process,
        walk().begun() ? "the runtime did not finish reporting it in time" : "the runtime does not report it",
        form_.unended);
  heap::Heap heap = take_heap();
  if (wants_objects(form_)) {
    RETURN_IF_ERROR(check_objects(heap, form_.output));
  }
  std::string lines = heap_lines(heap, origin_, form_, width_);
  if (form_.output.empty()) return lines;
  RETURN_IF_ERROR(write_heap(std::move(heap), origin_, form_, take_file_));
  RETURN_IF_ERROR(take_file_({}));
  return lines;
}

Result<ipc::CollectTracing> HeapSink::prepare(const router::Runtime& runtime) {
  ASSIGN_OR_RETURN(auto wanted, router::wanted_heap(runtime));
  RETURN_IF_ERROR(begin_printing(text_of({origin_of(runtime), {}})));
  return wanted;
}

Result<void> HeapSink::begin_kept(const router::Runtime& runtime, const std::string& output) {
  return begin_printing(text_of({origin_of(runtime), output}));
}

router::ReaderWork heap_reader_work(HeapForm form, std::size_t width) {
  return [form = std::move(form), width](const auto& wanted, auto& from, auto& to) {
    const About about = about_in(wanted.text);
    HeapForm made = form;
    if (!about.output.empty()) made.output = about.output;
    HeapLines lines(std::move(made), width, about.origin, [&to](std::string_view piece) -> Result<void> {
      to.write(router::ReaderFrame::file, piece);
      return {};
    });
    return router::make_lines(lines, from, to);
  };
}

}  // namespace farport::cli
