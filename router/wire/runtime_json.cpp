#include "router/wire/runtime_json.hpp"

#include <algorithm>
#include <stdexcept>

#include "router/wire/json_members.hpp"

namespace farport::router {
namespace {

/// The longest error of an agent's that is shown whole: its own have a few hundred bytes.
constexpr std::size_t kLongestError = 4096;
/// A host name has 64 bytes on Linux, a full one 253.
constexpr std::size_t kLongestHost = 255;
/// What is kept of another's texts, in bytes. A command line becomes a placeholder's: execve(2) takes no more
/// than 128 KiB.
constexpr std::size_t kLongestCommandLine = 32 * 1024;
constexpr std::size_t kLongestName = 1024;
/// Values in a list of very many runtimes, and in one event.
constexpr std::size_t kListValues = 300'000;
constexpr std::size_t kEventValues = 1000;
constexpr std::size_t kErrorValues = 100;

json object_of(const Container& container) {
  json object{{"id", container.id}};
  if (!container.name.empty()) object["name"] = container.name;
  if (!container.pod.empty()) object["pod"] = container.pod;
  return object;
}

json object_of(const Runtime& runtime) {
  json object{{"id", runtime.id},           {"pid", runtime.pid},
              {"name", runtime.name},       {"command_line", runtime.command_line},
              {"os", runtime.os},           {"architecture", runtime.architecture},
              {"version", runtime.version}, {"state", to_string(runtime.state)},
              {"user", runtime.user},       {"host", runtime.host},
              {"since", runtime.since}};
  if (runtime.halt != Halt::none) object["halt"] = to_string(runtime.halt);
  if (runtime.host_pid != 0) object["host_pid"] = runtime.host_pid;
  if (!runtime.container.id.empty()) object["container"] = object_of(runtime.container);
  return object;
}

/// A text, cut where it is too long, but not in the middle of a character, and before a zero byte: no text of
/// a process has one, and it would end an argument or a variable of ours.
std::string text_in(const json& object, const char* name, std::size_t longest = kLongestName) {
  auto text = object.at(name).get<std::string>();
  text.resize(std::min(text.find('\0'), text.size()));
  if (text.size() <= longest) return text;
  const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; };
  while (longest > 0 && continues(text[longest])) --longest;
  text.resize(longest);
  return text;
}

Container container_of(const json& object) {
  Container container;
  container.id = text_in(object, "id", kLongestHost);
  if (container.id.empty()) return container;
  if (object.contains("name")) container.name = text_in(object, "name", kLongestHost);
  if (object.contains("pod")) container.pod = text_in(object, "pod", kLongestHost);
  return container;
}

Runtime runtime_of(const json& object) {
  Runtime runtime;
  runtime.id = text_in(object, "id");
  runtime.pid = number_at<std::uint64_t>(object, "pid");
  runtime.name = text_in(object, "name");
  runtime.command_line = text_in(object, "command_line", kLongestCommandLine);
  runtime.os = text_in(object, "os");
  runtime.architecture = text_in(object, "architecture");
  runtime.version = text_in(object, "version");
  runtime.state =
      object.at("state").get<std::string>() == "suspended" ? RuntimeState::suspended : RuntimeState::running;
  if (object.contains("halt")) runtime.halt = halt_named(text_in(object, "halt"));
  runtime.user = number_at<uid_t>(object, "user");
  if (object.contains("host_pid")) runtime.host_pid = number_at<std::uint64_t>(object, "host_pid");
  if (object.contains("container")) runtime.container = container_of(object.at("container"));
  // Older agents have none.
  if (object.contains("host")) runtime.host = text_in(object, "host");
  if (runtime.host.size() > kLongestHost) runtime.host.clear();
  runtime.since = text_in(object, "since");
  return runtime;
}

RuntimeEvent::Kind kind_of(const std::string& name) {
  if (name == "added") return RuntimeEvent::Kind::added;
  if (name == "changed") return RuntimeEvent::Kind::changed;
  if (name == "removed") return RuntimeEvent::Kind::removed;
  if (name == "listed") return RuntimeEvent::Kind::listed;
  throw std::invalid_argument("no such event: " + name);
}

}  // namespace

std::string to_json(const Runtime& runtime) {
  return text_of(object_of(runtime));
}

std::string to_json(const std::vector<Runtime>& runtimes) {
  json array = json::array();
  for (const Runtime& runtime : runtimes) array.push_back(object_of(runtime));
  return text_of(array);
}

std::string to_json_line(const RuntimeEvent& event) {
  json object = {{"event", to_string(event.kind)}};
  if (event.kind != RuntimeEvent::Kind::listed) object["runtime"] = object_of(event.runtime);
  return text_of(object) + "\n";
}

Result<std::vector<Runtime>> runtimes_from_json(std::string_view text) {
  try {
    std::vector<Runtime> runtimes;
    for (const json& object : array_in(text, kListValues)) runtimes.push_back(runtime_of(object));
    return runtimes;
  } catch (const std::exception& error) {
    return fail("read", "the agent's list of runtimes", reason_of(error));
  }
}

Result<RuntimeEvent> event_from_json(std::string_view line) {
  try {
    const json object = parse_bounded(line, kEventValues);
    RuntimeEvent event;
    event.kind = kind_of(object.at("event").get<std::string>());
    if (event.kind != RuntimeEvent::Kind::listed) event.runtime = runtime_of(object.at("runtime"));
    return event;
  } catch (const std::exception& error) {
    return fail("read", "an event of the agent", reason_of(error));
  }
}

std::string error_json(std::string_view why, std::optional<std::uint32_t> hresult) {
  json object{{"error", why}};
  if (hresult) object["hresult"] = *hresult;
  return text_of(object);
}

RefusedRequest error_from_json(std::string_view body) {
  RefusedRequest refused;
  json object;
  try {
    object = parse_bounded(body, kErrorValues);
  } catch (const std::exception&) {
    object = nullptr;  // Then it is shown as it is.
  }
  if (!object.is_object() || !object.contains("error") || !object["error"].is_string()) {
    refused.why = body.substr(0, kShownReason);
    return refused;
  }
  refused.why = object["error"].get<std::string>().substr(0, kLongestError);
  const auto hresult = object.find("hresult");
  if (hresult != object.end() && hresult->is_number_unsigned() &&
      hresult->get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max()) {
    refused.hresult = hresult->get<std::uint32_t>();
  }
  return refused;
}

}  // namespace farport::router
