#include "router/wire/artifact.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/text.hpp"
#include "router/wire/json_members.hpp"
#include "router/wire/runtime_json.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kMaxId = 200;
constexpr std::size_t kMaxEnding = 20;
constexpr std::size_t kMaxPermissions = 10;
constexpr std::size_t kMaxStores = 100;

json object_of(const Artifact& artifact) {
  return {{"id", artifact.id},
          {"kind", artifact.kind},
          {"ending", artifact.ending},
          {"runtime", object_of(artifact.runtime)},
          {"kernel_pid", artifact.runtime.kernel_pid},
          {"time", artifact.time},
          {"taken_by", artifact.taken_by},
          {"owner", artifact.owner},
          {"why", artifact.why},
          {"gaps", artifact.gaps},
          {"permissions", artifact.permissions},
          {"state", to_string(artifact.state)},
          {"in_order", artifact.in_order},
          {"seconds", artifact.seconds},
          {"bytes", artifact.bytes},
          {"size", artifact.size},
          {"sent_to", artifact.sent_to},
          {"sha256", artifact.sha256},
          {"cause", artifact.cause},
          {"only_in", artifact.only_in},
          {"stops_for", artifact.stops_for}};
}

Artifact::State state_named(std::string_view name) {
  for (const auto state : {Artifact::State::under_way, Artifact::State::whole, Artifact::State::cut}) {
    if (name == to_string(state)) return state;
  }
  throw std::invalid_argument("there is no such state of an artifact");
}

/// An older agent sends to no stores.
std::vector<std::string> stores_in(const json& object) {
  auto stores = object.value("sent_to", std::vector<std::string>());
  if (stores.size() > kMaxStores) throw std::invalid_argument("an artifact was sent to too many stores");
  return stores;
}

std::vector<std::string> permissions_in(const json& object) {
  auto permissions = object.at("permissions").get<std::vector<std::string>>();
  if (permissions.empty() || permissions.size() > kMaxPermissions)
    throw std::invalid_argument("an artifact needs some permissions, and not too many");
  return permissions;
}

Artifact artifact_of(const json& object) {
  Artifact artifact;
  artifact.id = text_in(object, "id");
  artifact.kind = text_in(object, "kind");
  artifact.ending = text_in(object, "ending");
  // What an older agent has kept of a heap's types: a description has this name.
  if (artifact.ending == ".json") artifact.ending = ".content.json";
  const bool is_name = is_artifact_id(artifact.id) && artifact.ending.size() <= kMaxEnding &&
                       std::ranges::all_of(artifact.ending, is_artifact_id_letter);
  if (!is_name) throw std::invalid_argument("an artifact's id or ending can't be in a file's name");
  artifact.runtime = runtime_of(object.at("runtime"));
  artifact.runtime.kernel_pid = number_at<std::uint64_t>(object, "kernel_pid");
  artifact.time = text_in(object, "time");
  artifact.taken_by = text_in(object, "taken_by");
  artifact.owner = text_in(object, "owner");
  artifact.why = text_in(object, "why");
  artifact.permissions = permissions_in(object);
  artifact.state = state_named(text_in(object, "state"));
  artifact.in_order = object.at("in_order").get<bool>();
  artifact.seconds = number_at<std::uint32_t>(object, "seconds");
  artifact.bytes = number_at<std::uint64_t>(object, "bytes");
  artifact.size = number_at<std::uint64_t>(object, "size");
  artifact.sent_to = stores_in(object);
  artifact.sha256 = text_in(object, "sha256");
  // An older agent does not look for gaps, has no rules, and keeps everything itself.
  artifact.gaps = object.value("gaps", "");
  artifact.cause = object.value("cause", "");
  artifact.only_in = object.value("only_in", "");
  artifact.stops_for = object.value("stops_for", std::uint32_t{0});
  if (artifact.state == Artifact::State::whole && artifact.kind != kCrash && artifact.sha256.empty())
    throw std::invalid_argument("an artifact that is whole has no SHA-256");
  return artifact;
}

}  // namespace

std::string_view to_string(Artifact::State state) {
  switch (state) {
    case Artifact::State::under_way:
      return "under way";
    case Artifact::State::cut:
      return "cut";
    case Artifact::State::whole:
      break;
  }
  return "whole";
}

bool is_artifact_id_letter(char letter) {
  return is_letter_or_digit(letter) || letter == '-' || letter == '_' || letter == '.';
}

bool is_artifact_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxId && text.front() != '.' && text.front() != '-' &&
         std::ranges::all_of(text, is_artifact_id_letter);
}

std::string to_json(const Artifact& artifact) {
  return text_of(object_of(artifact));
}

std::string to_json(const std::vector<Artifact>& all) {
  json array = json::array();
  for (const Artifact& artifact : all) array.push_back(object_of(artifact));
  return text_of(array);
}

Result<Artifact> artifact_from_json(std::string_view text) {
  try {
    return artifact_of(parse_bounded(text, kEventValues));
  } catch (const std::exception& error) {
    return fail("read", "what is said of an artifact", reason_of(error));
  }
}

Result<std::vector<Artifact>> artifacts_from_json(std::string_view text) {
  try {
    std::vector<Artifact> all;
    for (const json& object : array_in(text, kListValues)) all.push_back(artifact_of(object));
    return all;
  } catch (const std::exception& error) {
    return fail("read", "the agent's list of artifacts", reason_of(error));
  }
}

std::string to_json_line(ArtifactEvent event) {
  return text_of(json{{"event", event == ArtifactEvent::stopping ? "stopping" : "changed"}}) + "\n";
}

Result<ArtifactEvent> artifact_event_from_json(std::string_view line) {
  try {
    const std::string name = text_in(parse_bounded(line, kEventValues), "event");
    if (name == "changed") return ArtifactEvent::changed;
    if (name == "stopping") return ArtifactEvent::stopping;
    throw std::invalid_argument("no such event: " + name);
  } catch (const std::exception& error) {
    return fail("read", "an event of the agent", reason_of(error));
  }
}

}  // namespace farport::router
