#include "heap/heap.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace farport::heap {

std::string label_of(const Type& type) {
  return type.name.empty() ? fmt::format("[type {:#x}]", type.number) : type.name;
}

std::vector<TypeId> largest_types(const Heap& heap, std::size_t most) {
  std::vector<TypeId> all;
  for (TypeId id = 0; id < heap.types.size(); ++id) {
    if (heap.types[id].objects > 0) all.push_back(id);
  }
  const auto wanted = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::partial_sort(all.begin(), wanted, all.end(), [&heap](TypeId one, TypeId other) {
    const Type& a = heap.types[one];
    const Type& b = heap.types[other];
    return std::tie(b.bytes, b.objects, a.name, one) < std::tie(a.bytes, a.objects, b.name, other);
  });
  all.erase(wanted, all.end());
  return all;
}

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const Type& type) {
  Json json;
  json["type"] = label_of(type);
  if (!type.module.empty()) json["module"] = type.module;
  json["bytes"] = type.bytes;
  json["objects"] = type.objects;
  return json;
}

/// After the caller has written a comma or the array's start.
void add_element(std::string& text, const std::string& element) {
  constexpr std::string_view kIndent = "    ";
  for (std::size_t begin = 0; begin < element.size();) {
    const std::size_t end = std::min(element.find('\n', begin), element.size());
    (text += '\n') += kIndent;
    text.append(element, begin, end - begin);
    begin = end + 1;
  }
}

}  // namespace

std::vector<std::string> gaps_of(const Heap& heap) {
  // Names get lost with the rest.
  if (!heap.complete)
    return {
        "parts of the heap are missing: the runtime dropped events, because they were read too slowly, or "
        "because the application is near its memory limit: then the agent makes the buffer smaller, and logs "
        "that"};
  std::size_t named = 0;
  std::size_t nameless = 0;
  for (const Type& type : heap.types) {
    if (type.objects > 0) ++(type.name.empty() ? nameless : named);
  }
  if (nameless == 0) return {};
  return {named > 0
              ? "some types have no names: the runtime reported them to another session that also requests "
                "types"
              : "types have no names: this runtime does not report any, as is so for NativeAOT"};
}

std::string to_json(const Heap& heap, const std::string& process, std::size_t most) {
  Json whole;
  whole["process"] = process;
  whole["pid"] = heap.pid;
  whole["complete"] = heap.complete;
  whole["gaps"] = gaps_of(heap);
  whole["bytes"] = heap.bytes;
  whole["objects"] = heap.objects;
  whole["references"] = heap.references;
  whole["types"] = Json::array();
  constexpr std::string_view kEnd = "]\n}";
  std::string text = text_of(whole);
  text.resize(text.size() - kEnd.size());
  // One at a time: tens of thousands of types in one JSON structure take several times the memory of their
  // text, and destroying it must not run out of memory.
  bool any = false;
  for (const TypeId id : largest_types(heap, most)) {
    if (std::exchange(any, true)) text += ',';
    add_element(text, text_of(json_of(heap.types[id])));
  }
  if (any) text += "\n  ";
  (text += kEnd) += '\n';
  return text;
}

}  // namespace farport::heap
