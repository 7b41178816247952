#include "cli/output/heap_report.hpp"

#include <fmt/format.h>

#include "cli/terminal/text.hpp"
#include "heap/heap.hpp"

namespace farport::cli {
namespace {

/// "1,234,567"
std::string in_groups(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string heap_line(std::string_view bytes, std::string_view objects, const std::string& what,
                      std::size_t width) {
  return cut(fmt::format("{:>15}  {:>12}  {}", bytes, objects, what), width) + "\n";
}

}  // namespace

std::string heap_table(const heap::Heap& heap, std::size_t rows, std::size_t width) {
  std::string table = heap_line("BYTES", "OBJECTS", "TYPE", width);
  table += heap_line(in_groups(heap.bytes), in_groups(heap.objects), "[all]", width);
  for (const heap::TypeId id : largest_types(heap, rows)) {
    const heap::Type& type = heap.types[id];
    const std::string module = type.module.empty() ? "" : "  [" + type.module + "]";
    table +=
        heap_line(in_groups(type.bytes), in_groups(type.objects), escape(label_of(type) + module), width);
  }
  return table;
}

}  // namespace farport::cli
