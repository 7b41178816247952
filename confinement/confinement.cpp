#include "confinement/confinement.hpp"

#include <array>
#include <cerrno>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"
#include "confinement/system_calls.hpp"
#ifdef FARPORT_INSTRUMENTED
#include "confinement/instrumented.hpp"
#endif

namespace farport::confinement {
namespace {

bool has_threads() {
  return numbered_entries("/proc/self/task").size() > 1;
}

Result<std::string> no_new_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno("forbid", "new privileges", errno);
  return std::string("no new privileges");
}

Result<std::string> give_up_files(const Needs& needs) {
  if (!needs.landlock_conflict.empty()) return fail("use", "Landlock", needs.landlock_conflict);
  std::vector<FileRule> rules = needs.files;
#ifdef FARPORT_INSTRUMENTED
  const std::vector<FileRule> more = instrument_files();
  rules.insert(rules.end(), more.begin(), more.end());
#endif
  RETURN_IF_ERROR(restrict_files(rules, needs.dials));
  const int version = landlock_version();
  const std::string what = version < 4 ? "files" : needs.dials ? "files and listening" : "files and TCP";
  return what + " limited by Landlock " + std::to_string(version);
}

Result<std::string> give_up_capabilities(const Needs& needs) {
  ASSIGN_OR_RETURN(const auto kept, keep_capabilities(needs.capabilities));
  return "capabilities: " + describe_capabilities(kept);
}

Result<std::string> give_up_system_calls(const Needs& needs) {
  RETURN_IF_ERROR(filter_system_calls(needs.dials ? Purpose::dialling : Purpose::serving));
  return std::string("system calls filtered");
}

/// Lines of "+in force" and "-missing", to be sent through a pipe.
std::string to_text(const Confinement& confinement) {
  std::string text;
  for (const std::string& item : confinement.in_force) text += "+" + item + "\n";
  for (const std::string& item : confinement.missing) text += "-" + item + "\n";
  return text;
}

Confinement from_text(const std::string& text) {
  Confinement confinement;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    auto& list = text[start] == '+' ? confinement.in_force : confinement.missing;
    list.push_back(text.substr(start + 1, end - start - 1));
    start = end == std::string::npos ? text.size() : end + 1;
  }
  return confinement;
}

[[noreturn]] void confine_and_tell(const Needs& needs, int to) {
  const std::string text = to_text(confine(needs));
  // Much less than the capacity of a pipe.
  std::ignore = ::write(to, text.data(), text.size());
  ::_exit(0);
}

}  // namespace

void hide_memory() {
  // Neither this call nor setrlimit(2) fails with these values.
  std::ignore = ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void forbid_core_dumps() {
  hide_memory();
  const rlimit none{0, 0};
  std::ignore = ::setrlimit(RLIMIT_CORE, &none);
}

Confinement confine(const Needs& needs) {
  Confinement confinement;
  if (has_threads()) {
    confinement.missing.emplace_back("nothing can be given up: other threads run already");
    return confinement;
  }
  const auto note = [&](const Result<std::string>& result) {
    if (result) {
      confinement.in_force.push_back(*result);
    } else {
      confinement.missing.push_back(result.error().message());
    }
  };
  note(no_new_privileges());
  note(give_up_files(needs));
  note(give_up_capabilities(needs));
  // Last, since the filter forbids the system calls that the other steps use.
  note(give_up_system_calls(needs));
  return confinement;
}

void confine_sampler() {
  std::ignore = no_new_privileges();
  // Without CAP_SYS_PTRACE a process may only look into processes whose capabilities it has, too (ptrace(2),
  // "Ptrace access mode checking"). So root in a container must keep all of them.
  const auto own = own_capabilities();
  const bool sees_all = own && (*own & capability(CAP_SYS_PTRACE)) != 0;
  // The process that reads files becomes the application's user, which takes these capabilities.
  const Capabilities becoming = capability(CAP_SETUID) | capability(CAP_SETGID) | capability(CAP_SYS_CHROOT);
  const bool as_root = ::geteuid() == 0 && own && (*own & becoming) == becoming;
  // A slow reader is killed, and by then it runs as another user.
  const Capabilities ending = capability(CAP_KILL);
  if (sees_all) std::ignore = keep_capabilities(sampler_capabilities() | becoming | ending);
  std::ignore = filter_system_calls(as_root ? Purpose::sampling_as_root : Purpose::sampling);
}

void confine_reader_starter() {
  std::ignore = no_new_privileges();
  std::ignore = keep_capabilities(0);
  std::ignore = filter_system_calls(Purpose::starting_readers);
}

void confine_command_starter() {
  hide_memory();
  std::ignore = no_new_privileges();
  std::ignore = keep_capabilities(capability(CAP_SETUID) | capability(CAP_SETGID) | capability(CAP_KILL));
}

Result<void> confine_command(const CommandRights& rights) {
  RETURN_IF_ERROR(no_new_privileges());
  if (rights.user) {
    RETURN_IF_ERROR(become(*rights.user, 0));
  }
  RETURN_IF_ERROR(keep_capabilities(0));
  if (rights.files.empty() || (landlock_version() < kMinLandlock && !rights.required)) return {};
  constexpr bool kDials = true;
  constexpr bool kSignals = false;
  return restrict_files(rights.files, kDials, kSignals);
}

bool confine_parser() {
  std::ignore = keep_capabilities(0);
  return filter_system_calls(Purpose::parsing).has_value();
}

Confinement dry_run(const Needs& needs) {
  const auto unknown = [](std::string_view what) {
    return Confinement{{}, {"can't be found out: " + fail_errno(what, {}, errno).value().message()}};
  };
  std::array<int, 2> ends{-1, -1};
  if (::pipe(ends.data()) != 0) return unknown("make a pipe");
  const pid_t child = ::fork();
  if (child == 0) confine_and_tell(needs, ends[1]);
  ::close(ends[1]);
  std::string text;
  std::array<char, 512> part{};
  for (ssize_t got = 0; child > 0 && (got = ::read(ends[0], part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  if (child < 0) return unknown("start a process");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return from_text(text);
}

std::string join(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : "; ") + item;
  return text;
}

}  // namespace farport::confinement
