#include "router/wire/process_condition.hpp"

#include <fmt/core.h>

#include "router/wire/json_members.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kConditionValues = 100;
/// A process that uses less than this gets on with nothing that could take long.
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
  return halt == Halt::none && !traced && cores >= kBusyCores;
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
  json object = {{"threads", condition.threads},
                 {"running", condition.running},
                 {"in_disk", condition.in_disk},
                 {"cores", condition.cores},
                 {"memory", condition.memory}};
  if (condition.halt != Halt::none) object["halt"] = to_string(condition.halt);
  if (condition.traced) object["traced"] = true;
  if (condition.ending) object["ending"] = true;
  return text_of(object);
}

Result<ProcessCondition> process_condition_from_json(std::string_view text) {
  try {
    const json object = parse_bounded(text, kConditionValues);
    ProcessCondition condition;
    condition.halt = halt_named(object.value("halt", ""));
    condition.traced = object.value("traced", false);
    condition.ending = object.value("ending", false);
    condition.threads = number_at<std::uint32_t>(object, "threads");
    condition.running = number_at<std::uint32_t>(object, "running");
    condition.in_disk = number_at<std::uint32_t>(object, "in_disk");
    condition.cores = object.at("cores").get<double>();
    // Older agents do not say it.
    if (object.contains("memory")) condition.memory = number_at<std::uint64_t>(object, "memory");
    return condition;
  } catch (const std::exception& error) {
    return fail("read", "what the agent says of the process", reason_of(error));
  }
}

}  // namespace farport::router
