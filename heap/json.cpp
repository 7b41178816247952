#include "heap/json.hpp"

#include <nlohmann/json.hpp>

#include "heap/largest.hpp"

namespace farport::heap {

std::string to_json(const Heap& heap, const std::string& process, std::size_t most) {
  using Json = nlohmann::ordered_json;
  Json whole;
  whole["process"] = process;
  whole["pid"] = heap.pid;
  whole["complete"] = heap.complete;
  whole["bytes"] = heap.bytes;
  whole["objects"] = heap.objects;
  whole["references"] = heap.references;
  Json& types = whole["types"] = Json::array();
  for (const TypeId id : largest_types(heap, most)) {
    const Type& type = heap.types[id];
    Json entry;
    entry["type"] = label_of(type);
    if (!type.module.empty()) entry["module"] = type.module;
    entry["bytes"] = type.bytes;
    entry["objects"] = type.objects;
    types.push_back(std::move(entry));
  }
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace farport::heap
