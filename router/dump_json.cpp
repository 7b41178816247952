#include "router/dump_json.hpp"

#include <nlohmann/json.hpp>

namespace farport::router {
namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const DumpProgress& progress) {
  json object = {{"phase", progress.phase == DumpProgress::Phase::writing ? "writing" : "sending"},
                 {"written", progress.written},
                 {"sent", progress.sent},
                 {"total", progress.total}};
  if (progress.estimate) object["estimate"] = *progress.estimate;
  return text_of(object);
}

Result<DumpProgress> dump_progress_from_json(std::string_view text) {
  try {
    const json object = json::parse(text);
    DumpProgress progress;
    if (object.at("phase").get<std::string>() == "sending") progress.phase = DumpProgress::Phase::sending;
    progress.written = object.at("written").get<std::uint64_t>();
    progress.sent = object.at("sent").get<std::uint64_t>();
    progress.total = object.at("total").get<std::uint64_t>();
    if (object.contains("estimate")) progress.estimate = object["estimate"].get<std::uint64_t>();
    return progress;
  } catch (const std::exception& error) {
    return fail("read", "the dump's progress", error.what());
  }
}

std::string to_json(const DumpDirectory::Kept& kept) {
  return text_of(json{{"path", kept.there}, {"agent_path", kept.here}, {"size", kept.size}});
}

Result<std::string> kept_dump_from_json(std::string_view text) {
  try {
    return json::parse(text).at("path").get<std::string>();
  } catch (const std::exception& error) {
    return fail("read", "where the dump is", error.what());
  }
}

}  // namespace farport::router
