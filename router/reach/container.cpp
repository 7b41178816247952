#include "router/reach/container.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/text.hpp"
#include "router/reach/command.hpp"
#include "router/reach/deploy.hpp"
#include "router/reach/stdio_command.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using Json = nlohmann::json;

bool is_capability(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

std::vector<std::string> capabilities_of(const Json& list) {
  std::vector<std::string> names;
  for (const Json& each : elements(list)) {
    std::string name = string_of(each);
    if (is_capability(name)) names.push_back(std::move(name));
  }
  return names;
}

bool is_id(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The fields of the first line whose field `key` is `wanted` (passwd(5), group(5)); empty if there is no
/// such line.
std::vector<std::string_view> line_with(std::string_view file, std::size_t key, std::string_view wanted) {
  while (!file.empty()) {
    std::string_view line = take_until(file, '\n');
    std::vector<std::string_view> fields;
    for (std::size_t colon = 0; colon != std::string_view::npos;) {
      colon = line.find(':');
      fields.push_back(line.substr(0, colon));
      if (colon != std::string_view::npos) line.remove_prefix(colon + 1);
    }
    if (fields.size() > key && fields[key] == wanted) return fields;
  }
  return {};
}

/// "007" becomes "7".
std::string_view without_zeros(std::string_view number) {
  return number.substr(std::min(number.find_first_not_of('0'), number.size() - 1));
}

constexpr std::string_view kRoot = "root";
constexpr std::size_t kNameField = 0;
constexpr std::size_t kNumberField = 2;
constexpr std::size_t kGroupField = 3;

}  // namespace

Result<InspectedContainer> parse_inspected(std::string_view json) {
  const Json parsed = Json::parse(json, nullptr, false);
  const Json& whole = parsed.is_array() && !parsed.empty() ? parsed.front() : parsed;
  InspectedContainer container;
  container.id = string_of(member(whole, "Id"));
  if (!is_id(container.id)) return fail("read", "what the engine says of the container", "it has no Id");
  container.running = member(member(whole, "State"), "Running") == true;
  container.paused = member(member(whole, "State"), "Paused") == true;
  const Json& state = member(whole, "State");
  container.run = {string_of(member(state, "StartedAt")), container.running, {}};
  const Json& code = member(state, "ExitCode");
  if (!container.running && code.is_number_integer())
    container.run.ended = end_of_container(code.get<std::int64_t>(), member(state, "OOMKilled") == true);
  const Json& pid = member(state, "Pid");
  if (pid.is_number_unsigned()) container.pid = pid.get<std::uint64_t>();
  container.user = string_of(member(member(whole, "Config"), "User"));
  const Json& host = member(whole, "HostConfig");
  container.privileged = member(host, "Privileged") == true;
  container.added_capabilities = capabilities_of(member(host, "CapAdd"));
  container.dropped_capabilities = capabilities_of(member(host, "CapDrop"));
  return container;
}

bool needs_passwd(std::string_view user) {
  const std::size_t colon = user.find(':');
  const bool whole = colon != std::string_view::npos && all_digits(user.substr(0, colon)) &&
                     all_digits(user.substr(colon + 1));
  return !user.empty() && !whole;
}

Result<NumericUser> numeric_user(std::string_view user, std::string_view passwd, std::string_view group) {
  if (user.empty()) return NumericUser{"0", "0"};
  const std::size_t colon = user.find(':');
  const std::string_view name = user.substr(0, colon);
  const std::string_view group_name = colon == std::string_view::npos ? "" : user.substr(colon + 1);
  const auto entry = line_with(passwd, all_digits(name) ? kNumberField : kNameField, name);
  const bool known =
      entry.size() > kGroupField && all_digits(entry[kNumberField]) && all_digits(entry[kGroupField]);
  if (!known && !all_digits(name)) return fail("find", name, "its /etc/passwd has no such user");
  // Processes in the container may have written that line since, so it must not get them a helper that runs
  // as root.
  if (!all_digits(name) && name != kRoot && without_zeros(entry[kNumberField]) == "0") {
    return fail("trust", name, "the container's own /etc/passwd says that this user is root",
                "start the container with its user by number, or look at it from its host, by ssh://");
  }
  NumericUser found{std::string(without_zeros(known ? entry[kNumberField] : name)),
                    std::string(known ? entry[kGroupField] : "0")};
  if (group_name.empty()) return found;
  const auto group_entry = line_with(group, kNameField, group_name);
  if (all_digits(group_name)) {
    found.group = group_name;
  } else if (group_entry.size() > kNumberField && all_digits(group_entry[kNumberField])) {
    found.group = group_entry[kNumberField];
  } else {
    return fail("find", group_name, "its /etc/group has no such group");
  }
  return found;
}

namespace {

// The header's fields: POSIX.1-2017, pax, "ustar Interchange Format".
constexpr std::size_t kBlock = 512;
constexpr std::size_t kMode = 100;
constexpr std::size_t kSize = 124;
constexpr std::size_t kSizeDigits = 11;
constexpr std::size_t kChecksum = 148;
constexpr std::size_t kType = 156;
constexpr std::size_t kMagic = 257;
constexpr char kPlainFile = '0';

std::size_t whole_blocks(std::size_t size) {
  return (size + kBlock - 1) / kBlock * kBlock;
}

std::string header_of(std::string_view path, std::size_t size) {
  std::string header(kBlock, '\0');
  const auto put = [&header](std::size_t at, std::string_view text) { text.copy(&header[at], text.size()); };
  put(0, path);
  put(kMode, "0000755");
  put(kMode + 8, "0000000");
  put(kMode + 16, "0000000");
  put(kSize, fmt::format("{:011o}", size));
  put(kSize + 12, "00000000000");
  put(kChecksum, "        ");
  header[kType] = kPlainFile;
  put(kMagic, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(kChecksum, fmt::format("{:06o}", sum) + '\0');
  return header;
}

std::optional<std::size_t> octal(std::string_view digits) {
  std::size_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<std::size_t>(c - '0');
  }
  return value;
}

}  // namespace

std::vector<std::byte> tar_of_program(std::string_view path, std::span<const std::byte> content) {
  const std::string header = header_of(path, content.size());
  // An archive ends with two blocks of zeros.
  std::vector<std::byte> tar(kBlock + whole_blocks(content.size()) + 2 * kBlock);
  const auto bytes = std::as_bytes(std::span(header));
  std::copy(bytes.begin(), bytes.end(), tar.begin());
  std::copy(content.begin(), content.end(), tar.begin() + kBlock);
  return tar;
}

std::optional<std::string> first_file(std::string_view tar) {
  while (tar.size() >= kBlock) {
    const auto size = octal(tar.substr(kSize, kSizeDigits));
    if (!size || *size > tar.size() - kBlock) return std::nullopt;
    const char type = tar[kType];
    if (type == kPlainFile || type == '\0') return std::string(tar.substr(kBlock, *size));
    tar.remove_prefix(std::min(tar.size(), kBlock + whole_blocks(*size)));
  }
  return std::nullopt;
}

namespace {

using transport::Task;
using Arguments = std::vector<std::string>;

constexpr const char* kProgramPath = "usr/bin/farport";
/// Characters of the container's id in the helper's name.
constexpr std::size_t kShortId = 12;
/// Most helpers to start, one after the other, until one answers. More than one is needed only while the
/// engine removes an ended one.
constexpr int kMaxStarts = 4;
/// Interval and number of attempts to join a helper that is being started.
constexpr transport::Milliseconds kTryAgain{200};
constexpr int kTries = 50;

/// What engines accept as a name or an id; it can't be taken for an option.
bool is_container_name(std::string_view name) {
  return !name.empty() && is_letter_or_digit(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '_' || c == '.' || c == '-'; });
}

/// The helper's capabilities: the same as the target's, since the kernel requires at least those of the
/// process to be inspected (ptrace(2), "Ptrace access mode checking").
Arguments capability_flags(const InspectedContainer& target, const NumericUser& user) {
  if (target.privileged) return {"--cap-add", "all"};
  Arguments flags;
  if (!user.is_root()) flags = {"--cap-drop", "all"};
  for (const std::string& name : target.added_capabilities) flags.insert(flags.end(), {"--cap-add", name});
  if (!user.is_root()) return flags;
  for (const std::string& name : target.dropped_capabilities) flags.insert(flags.end(), {"--cap-drop", name});
  return flags;
}

/// Flags for sampling. The engines' seccomp filters allow perf_event_open(2) only with more capabilities than
/// it needs, so they are turned off; farport has a filter of its own. Without these capabilities, or if they
/// have no effect (rootless), kernel frames are missing.
Arguments sampling_flags(bool knows_perfmon) {
  Arguments flags{"--cap-add", "syslog", "--security-opt", "seccomp=unconfined"};
  if (knows_perfmon) flags.insert(flags.end(), {"--cap-add", "perfmon"});
  return flags;
}

struct Helper {
  std::string name;
  std::string image;
  bool own_image = false;  ///< Made by us, so nothing is pulled.
  bool profiles = false;
  bool knows_perfmon = true;  ///< The engine knows CAP_PERFMON; Docker does from 23.0 on.
  NumericUser user{};         ///< The target's user; empty until it is needed.

  /// Docker gives capabilities to root only, so the helper starts as root and switches to the user itself.
  [[nodiscard]] bool begins_as_root() const { return profiles && !user.is_root(); }
};

/// The pid namespace that the helper joins. Podman refuses to remove a container that another one refers to,
/// so there it is given by path; Docker knows no other way than the container.
std::string pid_mode(const std::string& engine, const InspectedContainer& target) {
  return engine == "podman" ? fmt::format("ns:/proc/{}/ns/pid", target.pid) : "container:" + target.id;
}

Arguments run_arguments(const std::string& engine, const InspectedContainer& target, const Helper& helper,
                        std::chrono::milliseconds linger) {
  Arguments all{engine,
                "run",
                "--detach",
                "--rm",
                "--name",
                helper.name,
                "--pid",
                pid_mode(engine, target),
                "--user",
                helper.begins_as_root() ? "0:0" : helper.user.text(),
                "--network",
                "none",
                "--read-only",
                "--tmpfs",
                "/tmp",
                "--security-opt",
                "no-new-privileges",
                "--entrypoint",
                "farport"};
  const Arguments capabilities = capability_flags(target, helper.user);
  all.insert(all.end(), capabilities.begin(), capabilities.end());
  if (helper.profiles) {
    const Arguments more = sampling_flags(helper.knows_perfmon);
    all.insert(all.end(), more.begin(), more.end());
  }
  if (helper.begins_as_root()) all.insert(all.end(), {"--cap-add", "setuid", "--cap-add", "setgid"});
  if (helper.own_image) all.insert(all.end(), {"--pull", "never"});
  all.push_back(helper.image);
  append_helper_words(all, linger);
  if (helper.begins_as_root()) all.insert(all.end(), {"--user", helper.user.text()});
  return all;
}

bool refuses_perfmon(const Error& error) {
  return error.why.find("capability") != std::string::npos && error.why.find("PERFMON") != std::string::npos;
}

class ContainerReach final : public Reach {
 public:
  ContainerReach(std::string text, std::string engine, std::string name, Deploy deploy)
      : Reach(std::move(text)),
        engine_(std::move(engine)),
        name_(std::move(name)),
        deploy_(std::move(deploy)) {}

  [[nodiscard]] Task<Result<Reached>> open(transport::Loop& loop, Log log) const override {
    const bool helps = deploy_.way == Deploy::Way::automatic || deploy_.way == Deploy::Way::ephemeral;
    if (helps) {
      auto reached = co_await open_helper(loop, log);
      if (reached || deploy_.way == Deploy::Way::ephemeral) co_return reached;
      // An error about the target itself would occur inside it as well.
      if (reached.error().on == text()) co_return reached;
      deploy_.announce(fmt::format("{}: no helper container: {}", text(), reached.error().message()));
    }
    auto reached = co_await open_inside(loop, log);
    co_return reached;
  }

  [[nodiscard]] Task<std::optional<ContainerRun>> container_run(transport::Loop& loop) const override {
    const auto inspected = co_await capture(loop, command("container", "inspect", name_));
    if (!inspected) co_return std::nullopt;
    const auto container = parse_inspected(*inspected);
    if (!container) co_return std::nullopt;
    co_return container->run;
  }

 private:
  /// Reaches farport in the container itself.
  Task<Result<Reached>> open_inside(transport::Loop& loop, Log log) const {
    StdioCommand what{text(), command("exec", "--interactive", name_), nullptr, deploy_.announce};
    if (deploy_.way == Deploy::Way::never) {
      append(what.arguments, "farport", "stdio");
    } else {
      CO_ASSIGN_OR_RETURN(auto program, co_await deploy_.program->load(loop));
      what.program = std::move(program);
      what.without_shell = "leave --deploy copy out: a container beside it needs none";
      append(what.arguments, "sh", "-c",
             deploy_script(*what.program, deploy_, deploy_.way == Deploy::Way::automatic));
    }
    auto reached = co_await open_stdio(loop, std::move(log), std::move(what));
    co_return reached;
  }

  /// Reaches a helper container that shares the target's pid namespace. Engines report late what runs, so a
  /// helper counts only if it answers; if none does, another one is started under the next name.
  Task<Result<Reached>> open_helper(transport::Loop& loop, Log log) const {
    auto inspected = co_await capture(loop, command("container", "inspect", name_));
    if (!inspected) co_return cannot_reach(text(), inspected.error());
    const auto target = parse_inspected(*inspected);
    if (!target) co_return cannot_reach(text(), target.error());
    if (target->paused) {
      co_return fail("reach", text(), "it is paused", fmt::format("{} unpause {}", engine_, name_));
    }
    if (!target->running) co_return fail("reach", text(), "it does not run");
    CO_ASSIGN_OR_RETURN(auto helper, co_await helper_of(loop, *target));
    const std::string first = helper.name;
    int starts = 0;
    for (int number = 1;; ++number) {
      if (number > 1) helper.name = fmt::format("{}-{}", first, number);
      // The helper may be another command's, or the one that was just started.
      auto reached = co_await join(loop, log, helper);
      if (reached) co_return reached;
      const auto started = co_await start(loop, *target, helper);
      const std::string state = co_await state_of(loop, helper.name);
      // If no container has that name, then no other command has started it either.
      const bool failed = !started && state.empty();
      if (!failed) reached = co_await join(loop, log, helper);
      if (reached) co_return reached;
      if (++starts == kMaxStarts) co_return tl::unexpected(failed ? started.error() : reached.error());
    }
  }

  /// Joins the helper of that name; waits if it is just being started.
  Task<Result<Reached>> join(transport::Loop& loop, Log log, Helper helper) const {
    for (int tries = 1;; ++tries) {
      StdioCommand what{text(), command("exec", "--interactive")};
      if (helper.begins_as_root()) append(what.arguments, "--user", helper.user.text());
      append(what.arguments, helper.name, "farport", "stdio", "--join", kHelperSocket);
      what.patience = kHelperPatience;
      // Not reported to people: if this helper does not answer, another one is started.
      auto reached = co_await open_stdio(loop, log, std::move(what));
      if (reached || tries == kTries) co_return reached;
      const std::string state = co_await state_of(loop, helper.name);
      const bool comes = state == "created" || state == "initialized" || state == "configured";
      if (!comes) co_return reached;
      co_await transport::sleep(loop, kTryAgain);
    }
  }

  /// The engine's state of the container, such as "running" or "exited"; empty if there is none.
  Task<std::string> state_of(transport::Loop& loop, std::string container) const {
    const auto told =
        co_await capture(loop, command("container", "inspect", "--format", "{{.State.Status}}", container));
    std::string state;
    if (told) state = told->substr(0, told->find('\n'));
    co_return state;
  }

  /// Starts a helper; first removes an ended one of the same name.
  Task<Result<std::string>> start(transport::Loop& loop, InspectedContainer target, Helper helper) const {
    const std::string state = co_await state_of(loop, helper.name);
    bool ended = state == "exited" || state == "dead" || state == "stopped";
    if (state == "running") {
      // If its monitor was killed, the engine does not know that the container has ended.
      const auto runs = co_await capture(loop, command("exec", helper.name, "farport", "--version"));
      ended = !runs;
    }
    if (ended) std::ignore = co_await capture(loop, command("container", "rm", "--force", helper.name));
    if (helper.user.user.empty()) {
      CO_ASSIGN_OR_RETURN(auto user, co_await user_of(loop, target.user));
      helper.user = std::move(user);
    }
    CO_RETURN_IF_ERROR(co_await provide_image(loop, helper));
    auto started = co_await capture(loop, run_arguments(engine_, target, helper, deploy_.linger));
    if (started || !refuses_perfmon(started.error())) co_return started;
    helper.knows_perfmon = false;
    started = co_await capture(loop, run_arguments(engine_, target, helper, deploy_.linger));
    co_return started;
  }

  Task<Result<Helper>> helper_of(transport::Loop& loop, InspectedContainer target) const {
    Helper helper{"farport-" + target.id.substr(0, kShortId), deploy_.image};
    helper.profiles = deploy_.profiles;
    // A helper that runs already may lack the rights for profiles, hence another name.
    if (helper.profiles) {
      helper.name += "-profile";
      CO_ASSIGN_OR_RETURN(auto user, co_await user_of(loop, target.user));
      helper.user = std::move(user);
    }
    if (helper.image.empty()) {
      CO_ASSIGN_OR_RETURN(auto program, co_await deploy_.program->load(loop));
      helper.own_image = true;
      helper.name += "-" + program->short_digest();
      helper.image = "localhost/farport-helper:" + program->short_digest();
    }
    co_return helper;
  }

  /// Announces the helper, and builds its image if that is our own and missing.
  Task<Result<void>> provide_image(transport::Loop& loop, Helper helper) const {
    announce(helper);
    if (!helper.own_image) co_return Result<void>();
    const auto known = co_await capture(loop, command("image", "inspect", helper.image));
    if (known) co_return Result<void>();
    CO_ASSIGN_OR_RETURN(auto program, co_await deploy_.program->load(loop));
    const auto archive =
        std::make_shared<const std::vector<std::byte>>(tar_of_program(kProgramPath, program->content()));
    CO_RETURN_IF_ERROR(co_await capture(loop, command("import", "-", helper.image), archive));
    co_return Result<void>();
  }

  Task<Result<NumericUser>> user_of(transport::Loop& loop, std::string user) const {
    std::string passwd;
    std::string group;
    if (needs_passwd(user)) {
      passwd = co_await file_of(loop, "/etc/passwd");
      group = co_await file_of(loop, "/etc/group");
    }
    co_return numeric_user(user, passwd, group);
  }

  /// A file in the container; empty if there is none, as in images without a shell.
  Task<std::string> file_of(transport::Loop& loop, std::string path) const {
    const auto archive = co_await capture(loop, command("cp", name_ + ":" + path, "-"));
    std::optional<std::string> content;
    if (archive) content = first_file(*archive);
    co_return content.value_or(std::string());
  }

  void announce(const Helper& helper) const {
    if (std::exchange(announced_, true)) return;
    deploy_.announce(
        fmt::format("{}: starts a container beside it that sees its processes{} (image {}), removed {:g} s "
                    "after its last session",
                    text(), helper.profiles ? " and may have the kernel sample them" : "", helper.image,
                    std::chrono::duration<double>(deploy_.linger).count()));
  }

  // Not by braced lists, which GCC 12 destroys twice in coroutines.
  template <typename... Words>
  [[nodiscard]] Arguments command(const Words&... words) const {
    Arguments all;
    all.reserve(1 + sizeof...(words));
    all.push_back(engine_);
    append(all, words...);
    return all;
  }
  template <typename... Words>
  static void append(Arguments& all, const Words&... words) {
    (all.emplace_back(words), ...);
  }

  std::string engine_;
  std::string name_;
  Deploy deploy_;
  mutable bool announced_ = false;  ///< Announced only once, however often it is opened.
};

}  // namespace

Result<std::shared_ptr<const Reach>> container_reach(std::string text, std::string engine, std::string name,
                                                     Deploy deploy) {
  if (!is_container_name(name)) {
    return fail("reach", text, "that is no container's name", fmt::format("write {}://NAME", engine));
  }
  return std::make_shared<ContainerReach>(std::move(text), std::move(engine), std::move(name),
                                          std::move(deploy));
}

}  // namespace farport::router
