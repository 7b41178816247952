#include "router/wire/runtime.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iterator>
#include <stdexcept>

#include <fmt/core.h>
#include <fnmatch.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "router/wire/json_members.hpp"

namespace farport::router {

std::string_view to_string(RuntimeState state) {
  return state == RuntimeState::suspended ? "suspended" : "running";
}

std::string_view to_string(Halt halt) {
  switch (halt) {
    case Halt::stopped:
      return "stopped";
    case Halt::frozen:
      return "frozen";
    case Halt::silent:
      return "silent";
    case Halt::none:
      break;
  }
  return "";
}

Halt halt_named(std::string_view name) {
  for (const Halt halt : {Halt::stopped, Halt::frozen, Halt::silent}) {
    if (name == to_string(halt)) return halt;
  }
  return Halt::none;
}

std::string_view condition_of(const Runtime& runtime) {
  return runtime.halt == Halt::none ? to_string(runtime.state) : to_string(runtime.halt);
}

Error is_suspended(const Runtime& runtime) {
  return {"record",
          runtime.name,
          "it is suspended at its start",
          "farport trace and dotnet-trace have it go on, and record its start",
          {}};
}

std::string utc_text(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[sizeof "2026-01-01T00:00:00Z"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::optional<std::chrono::system_clock::time_point> utc_time(const std::string& text) {
  std::tm parts{};
  const char* const end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

std::string_view to_string(RuntimeEvent::Kind kind) {
  switch (kind) {
    case RuntimeEvent::Kind::added:
      return "added";
    case RuntimeEvent::Kind::changed:
      return "changed";
    case RuntimeEvent::Kind::removed:
      return "removed";
    case RuntimeEvent::Kind::listed:
      break;
  }
  return "listed";
}

namespace {

/// The longest error of an agent that is shown completely. Its usual ones have a few hundred bytes.
constexpr std::size_t kLongestError = 4096;
/// A host name has at most 64 bytes on Linux, and 253 with its domain.
constexpr std::size_t kLongestHost = 255;
/// A command line becomes a placeholder's, for which execve(2) takes no more than 128 KiB.
constexpr std::size_t kLongestCommandLine = 32 * 1024;
constexpr std::size_t kErrorValues = 100;

json object_of(const Container& container) {
  json object{{"id", container.id}};
  if (!container.name.empty()) object["name"] = container.name;
  if (!container.pod.empty()) object["pod"] = container.pod;
  return object;
}

Container container_of(const json& object) {
  Container container;
  container.id = text_in(object, "id", kLongestHost);
  if (container.id.empty()) return container;
  if (object.contains("name")) container.name = text_in(object, "name", kLongestHost);
  if (object.contains("pod")) container.pod = text_in(object, "pod", kLongestHost);
  return container;
}

}  // namespace

json object_of(const Runtime& runtime) {
  json object{{"id", runtime.id},           {"pid", runtime.pid},
              {"name", runtime.name},       {"command_line", runtime.command_line},
              {"os", runtime.os},           {"architecture", runtime.architecture},
              {"version", runtime.version}, {"state", to_string(runtime.state)},
              {"user", runtime.user},       {"host", runtime.host},
              {"since", runtime.since}};
  if (runtime.native) object["native"] = true;
  if (runtime.halt != Halt::none) object["halt"] = to_string(runtime.halt);
  if (runtime.host_pid != 0) object["host_pid"] = runtime.host_pid;
  if (!runtime.container.id.empty()) object["container"] = object_of(runtime.container);
  return object;
}

std::string text_in(const json& object, const char* name, std::size_t longest) {
  auto text = object.at(name).get<std::string>();
  text.resize(std::min(text.find('\0'), text.size()));
  text.resize(shortened(text, longest).size());
  return text;
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
  if (object.contains("native")) runtime.native = object.at("native").get<bool>();
  if (object.contains("halt")) runtime.halt = halt_named(text_in(object, "halt"));
  runtime.user = number_at<uid_t>(object, "user");
  if (object.contains("host_pid")) runtime.host_pid = number_at<std::uint64_t>(object, "host_pid");
  if (object.contains("container")) runtime.container = container_of(object.at("container"));
  // Older agents don't send it.
  if (object.contains("host")) runtime.host = text_in(object, "host");
  if (runtime.host.size() > kLongestHost) runtime.host.clear();
  runtime.since = text_in(object, "since");
  return runtime;
}

namespace {

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
    object = nullptr;  // Show it as it is then.
  }
  if (!object.is_object() || !object.contains("error") || !object["error"].is_string()) {
    refused.why = shortened(body, kShownReason);
    return refused;
  }
  refused.why = shortened(object["error"].get<std::string>(), kLongestError);
  const auto hresult = object.find("hresult");
  if (hresult != object.end() && hresult->is_number_unsigned() &&
      hresult->get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max()) {
    refused.hresult = hresult->get<std::uint32_t>();
  }
  return refused;
}

namespace {

/// TASK_COMM_LEN without the terminating byte.
constexpr std::size_t kKeptByKernel = 15;

}  // namespace

std::string tool_name(const Runtime& runtime) {
  const std::string_view kept = std::string_view(runtime.name).substr(0, kKeptByKernel);
  std::string_view rest = runtime.command_line;
  for (int word = 0; word < 2; ++word) {
    const std::size_t space = rest.find(' ');
    const std::string_view file = file_of(rest.substr(0, space));
    if (file.starts_with(kept)) return std::string(file);
    if (space == std::string_view::npos) break;
    rest.remove_prefix(space + 1);
  }
  return std::string(kept);
}

std::string program_name(const Runtime& runtime) {
  const std::string_view line = runtime.command_line;
  return std::string(file_of(line.substr(0, line.find(' '))));
}

std::string Container::text() const {
  constexpr std::size_t kShort = 12;
  if (pod.empty()) return name.empty() ? id.substr(0, kShort) : name;
  return name.empty() ? pod : pod + "/" + name;
}

namespace {

bool has_wildcard(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

bool glob(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), FNM_CASEFOLD) == 0;
}

/// A longer list of choices is no help.
constexpr std::size_t kOffered = 20;

/// Whether `wanted`, which contains no host, names this runtime.
bool names_on_its_host(const std::string& wanted, const Runtime& runtime) {
  // Without wildcards, glob() compares without regard to case.
  if (has_wildcard(wanted)) {
    return glob(wanted, runtime.name) || glob(wanted, tool_name(runtime)) ||
           glob(wanted, runtime.command_line.substr(0, runtime.command_line.find(' ')));
  }
  if (runtime.host_pid != 0 && wanted == std::to_string(runtime.host_pid)) return true;
  return wanted == std::to_string(runtime.pid) || glob(wanted, runtime.id) || glob(wanted, runtime.name) ||
         glob(wanted, tool_name(runtime)) || glob(wanted, program_name(runtime));
}

/// For example "fd00::2" from "[fd00::2]:9000" or "[fd00::2]".
std::string without_port(std::string_view address) {
  if (address.starts_with('[')) return std::string(address.substr(1, address.find(']') - 1));
  return std::string(address.substr(0, address.rfind(':')));
}

/// Where the runtime is according to its agent: its pod or container as `farport ps` shows them, and its
/// host.
std::vector<std::string> places_of(const Runtime& runtime) {
  const Container& container = runtime.container;
  std::vector<std::string> places{container.pod};
  if (!container.name.empty()) places.push_back(container.text());
  places.push_back(runtime.host);
  std::erase(places, std::string());
  return places;
}

/// Whether `place` is the runtime's. An address must be the one at which its agent answers, not one that the
/// agent claims.
bool names_place(const std::string& place, const Runtime& runtime) {
  if (place == runtime.address) return true;
  const std::string plain = place.starts_with('[') ? without_port(place) : place;
  if (glob(plain, without_port(runtime.address))) return true;
  if (is_ip_address(plain)) return false;
  const std::vector<std::string> places = places_of(runtime);
  return std::any_of(places.begin(), places.end(),
                     [&](const std::string& each) { return glob(place, each); });
}

/// Whether a person can type the text as it is shown.
bool is_typable(std::string_view text) {
  return !text.empty() && !has_wildcard(text) &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != 0x7F; });
}

bool names_only(const std::string& text, const Runtime& runtime,
                const std::vector<const Runtime*>& runtimes) {
  return is_typable(text) && std::none_of(runtimes.begin(), runtimes.end(), [&](const Runtime* other) {
           return other != &runtime && names_runtime(text, *other);
         });
}

/// What to write for the runtime, followed by more about it in brackets.
std::string offer(const Runtime& runtime, const std::vector<const Runtime*>& runtimes) {
  const std::string pid = std::to_string(runtime.pid);
  const std::vector<std::string> places = places_of(runtime);
  const std::string on = places.empty() ? std::string() : " on " + places.front();
  const auto unique = [&](const std::string& text) { return names_only(text, runtime, runtimes); };
  if (unique(runtime.name)) return runtime.name + " (pid " + pid + on + ")";
  for (const std::string& place : places) {
    if (unique(runtime.name + "@" + place)) return runtime.name + "@" + place + " (pid " + pid + ")";
  }
  const std::string by_address = runtime.name + "@" + runtime.address;
  if (!runtime.address.empty() && unique(by_address)) return by_address + " (pid " + pid + ")";
  if (unique(pid)) return pid + " (" + runtime.name + on + ")";
  for (const std::string& place : places) {
    if (unique(pid + "@" + place)) return pid + "@" + place + " (" + runtime.name + ")";
  }
  return runtime.id + " (" + runtime.name + ", pid " + pid + on + ")";
}

std::string offers(const std::vector<const Runtime*>& offered, const std::vector<const Runtime*>& runtimes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(offered.size(), kOffered); ++i) {
    text += (i == 0 ? "" : ", ") + offer(*offered[i], runtimes);
  }
  const std::size_t more = offered.size() - std::min(offered.size(), kOffered);
  return more == 0 ? text : text + ", or one of " + std::to_string(more) + " more (farport ps lists them)";
}

/// If `wanted` is the own pid of a runtime, removes those of which it is only the host's pid.
void prefer_own_pids(std::string_view wanted, std::vector<const Runtime*>& fitting) {
  const auto is_own = [&](const Runtime* each) { return wanted == std::to_string(each->pid); };
  if (std::none_of(fitting.begin(), fitting.end(), is_own)) return;
  std::erase_if(fitting, [&](const Runtime* each) {
    return !is_own(each) && each->host_pid != 0 && wanted == std::to_string(each->host_pid);
  });
}

}  // namespace

bool names_runtime(std::string_view wanted, const Runtime& runtime) {
  if (names_on_its_host(std::string(wanted), runtime)) return true;
  // Names and hosts may themselves contain an @.
  for (std::size_t at = wanted.find('@'); at != std::string_view::npos; at = wanted.find('@', at + 1)) {
    const std::string host(wanted.substr(at + 1));
    if (at > 0 && !host.empty() && names_place(host, runtime) &&
        names_on_its_host(std::string(wanted.substr(0, at)), runtime)) {
      return true;
    }
  }
  return false;
}

bool is_selected(const std::vector<std::string>& wanted, const Runtime& runtime) {
  return wanted.empty() ||
         std::ranges::any_of(wanted, [&](const std::string& each) { return names_runtime(each, runtime); });
}

Result<std::size_t> choose_runtime(std::string_view wanted, const std::vector<const Runtime*>& runtimes) {
  std::vector<const Runtime*> fitting;
  std::copy_if(runtimes.begin(), runtimes.end(), std::back_inserter(fitting),
               [&](const Runtime* each) { return wanted.empty() || names_runtime(wanted, *each); });
  prefer_own_pids(wanted, fitting);
  if (fitting.size() == 1) {
    return static_cast<std::size_t>(std::find(runtimes.begin(), runtimes.end(), fitting.front()) -
                                    runtimes.begin());
  }
  const std::string_view on = wanted.empty() ? "a runtime" : wanted;
  if (runtimes.empty()) {
    return tl::unexpected(Error{"choose", std::string(on), "the agent has no runtime", {}, Cause(ESRCH)});
  }
  if (fitting.empty()) {
    return tl::unexpected(Error{"choose", std::string(on), "there is no such runtime",
                                "choose one of " + offers(runtimes, runtimes), Cause(ESRCH)});
  }
  return fail("choose", on, std::to_string(fitting.size()) + " runtimes fit",
              "choose one of " + offers(fitting, runtimes));
}

namespace {

constexpr std::size_t kConditionValues = 100;
/// A process that uses less than this is not working on anything that takes long.
constexpr double kBusyCores = 0.2;

std::string threads_text(const ProcessCondition& condition) {
  if (condition.threads == 1) return "its only thread waits";
  std::string text = fmt::format("all of its {} threads wait", condition.threads);
  if (condition.running > 0)
    text = fmt::format("{} of its {} threads wait", condition.threads - condition.running, condition.threads);
  if (condition.in_disk > 0) text += fmt::format(", {} of them for a disk or for memory", condition.in_disk);
  return text;
}

}  // namespace

bool ProcessCondition::is_busy() const {
  return halt == Halt::none && !traced && (runnable || cores >= kBusyCores);
}

ConditionWords describe(const ProcessCondition& condition, const Runtime& runtime) {
  const std::uint64_t pid = runtime.host_pid == 0 ? runtime.pid : runtime.host_pid;
  if (condition.ending) return {"its process is ending", {}};
  if (condition.traced) return {"a debugger or a tracer has stopped its process", "have it detach"};
  if (condition.halt == Halt::stopped)
    return {"its process is stopped, by a signal", fmt::format("kill -CONT {} there lets it go on", pid)};
  if (condition.halt == Halt::frozen)
    return {"its cgroup is frozen, as that of a paused container is", "unpause the container"};
  if (condition.threads == 0) return {"the agent can't see its process", {}};
  if (condition.is_busy()) {
    return {
        fmt::format("it is slow: {} of its {} threads run, on {:.1f} processors; a long garbage collection "
                    "looks like this",
                    condition.running, condition.threads, condition.cores),
        {}};
  }
  return {threads_text(condition), {}};
}

std::string to_json(const ProcessCondition& condition) {
  json object = {{"threads", condition.threads}, {"running", condition.running},
                 {"in_disk", condition.in_disk}, {"cores", condition.cores},
                 {"memory", condition.memory},   {"own_memory", condition.own_memory}};
  if (condition.halt != Halt::none) object["halt"] = to_string(condition.halt);
  if (condition.traced) object["traced"] = true;
  if (condition.runnable) object["runnable"] = true;
  if (condition.ending) object["ending"] = true;
  return text_of(object);
}

Result<ProcessCondition> process_condition_from_json(std::string_view text) {
  try {
    const json object = parse_bounded(text, kConditionValues);
    ProcessCondition condition;
    condition.halt = halt_named(object.value("halt", ""));
    condition.traced = object.value("traced", false);
    condition.runnable = object.value("runnable", false);
    condition.ending = object.value("ending", false);
    condition.threads = number_at<std::uint32_t>(object, "threads");
    condition.running = number_at<std::uint32_t>(object, "running");
    condition.in_disk = number_at<std::uint32_t>(object, "in_disk");
    condition.cores = object.at("cores").get<double>();
    // Older agents don't send it.
    if (object.contains("memory")) condition.memory = number_at<std::uint64_t>(object, "memory");
    if (object.contains("own_memory")) condition.own_memory = number_at<std::uint64_t>(object, "own_memory");
    return condition;
  } catch (const std::exception& error) {
    return fail("read", "what the agent says of the process", reason_of(error));
  }
}

namespace {

/// The most values in the answer for very many runtimes, with some ten in a row.
constexpr std::size_t kAccessValues = 1'000'000;

}  // namespace

Result<std::vector<AccessRow>> access_from_json(std::string_view text) {
  try {
    std::vector<AccessRow> rows;
    for (const json& object : array_in(text, kAccessValues)) {
      AccessRow& row = rows.emplace_back();
      row.command = object.at("command").get<std::string>();
      row.allowed = object.at("allowed").get<bool>();
      row.rule = object.value("rule", "");
      row.role = object.value("role", "");
      row.why = object.value("why", "");
      if (!object.contains("runtime")) continue;
      row.runtime = object["runtime"].at("name").get<std::string>();
      row.pid = number_at<std::uint64_t>(object["runtime"], "pid");
    }
    return rows;
  } catch (const std::exception& error) {
    return fail("read", "the agent's answer", reason_of(error));
  }
}

}  // namespace farport::router
