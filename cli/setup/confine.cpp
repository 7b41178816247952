#include "cli/setup/confine.hpp"

#include <cerrno>
#include <filesystem>

#include <linux/capability.h>
#include <unistd.h>

#include "auth/tls_credentials.hpp"
#include "base/files.hpp"
#include "cli/setup/remotes.hpp"
#include "confinement/user.hpp"

namespace farport::cli {
namespace {

namespace fs = std::filesystem;
using confinement::Access;
using confinement::FileRule;

/// Collects file rules for Landlock.
class Places {
 public:
  void add(const std::string& path, std::initializer_list<Access> access) {
    std::uint8_t all = 0;
    for (const Access each : access) all = static_cast<std::uint8_t>(all | static_cast<std::uint8_t>(each));
    if (!path.empty()) rules_.push_back({path, all});
  }
  /// Allows access in the file's directory, since the file may be replaced. If it is a link, also in the
  /// target's directory.
  void add_around(const std::string& file, std::initializer_list<Access> access) {
    if (file.empty()) return;
    std::error_code error;
    add(directory_of(file), access);
    const fs::path real = fs::canonical(file, error);
    if (!error) add(real.parent_path().string(), access);
  }
  [[nodiscard]] std::vector<FileRule> take() { return std::move(rules_); }

 private:
  std::vector<FileRule> rules_;
};

/// The files that are read again after a renewal.
std::vector<std::string> renewed_files(const config::ServeSettings& settings) {
  return tls_files(settings.tls).paths();
}

void add_system(Places& places) {
  // Process information, and the files for time zones and random numbers.
  for (const char* path : {"/proc", "/etc/localtime", "/usr/share/zoneinfo", "/dev/urandom"}) {
    places.add(path, {Access::read});
  }
  places.add("/dev/null", {Access::read, Access::write});
}

/// Allows reading a file that may be replaced, and the links that lead to it. A link in / or directly below
/// it, such as /var/run, is the system's, and a rule for its directory would allow too much.
void add_renewable(Places& places, const std::string& file) {
  if (file.empty()) return;
  places.add_around(file, {Access::read});
  for (const std::string& directory : auth::directories_leading_to(file)) {
    if (directory.rfind('/') > 0) places.add(directory, {Access::read});
  }
}

/// Allows reading the resolver's files (resolv.conf(5), nsswitch.conf(5), gai.conf(5)). If one is a link,
/// also in its target's directory, since services replace that file.
void add_resolver(Places& places) {
  for (const char* file :
       {"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf"}) {
    places.add(file, {Access::read});
    std::error_code error;
    if (fs::is_symlink(file, error)) places.add_around(fs::canonical(file, error), {Access::read});
  }
}

void add_audit(Places& places, const std::string& audit) {
  if (audit.find('/') == std::string::npos) return;
  std::error_code error;
  // A pipe or a device is not rotated.
  if (fs::exists(audit, error) && !fs::is_regular_file(audit, error)) {
    places.add(audit, {Access::write});
  } else {
    places.add_around(audit, {Access::write});
  }
}

Result<void> check_readable(const std::string& file, const confinement::User& user) {
  if (file.empty() || ::access(file.c_str(), R_OK) == 0) return {};
  return fail_errno(
      "read as user " + confinement::describe(user), file, errno,
      "that user must be able to reach and read it, now and whenever it is renewed: chgrp it to a "
      "group of that user's and chmod 0640");
}

/// Whether a path goes through another process's root or working directory.
bool leads_through_process(const std::string& path) {
  const std::string plain = fs::path(path).lexically_normal().string();
  return plain.starts_with("/proc/") &&
         (plain.find("/root") != std::string::npos || plain.find("/cwd") != std::string::npos);
}

/// Why these settings rule Landlock out; empty if they don't.
std::string landlock_conflict(const config::ServeSettings& settings) {
  if (settings.search_processes) {
    return "it looks into processes (--search proc), and Landlock forbids that whatever its rules say; "
           "search the "
           "directories that they share instead";
  }
  std::vector<std::string> places = settings.search;
  for (const NamedPath& named : settings.named) places.push_back(named.path);
  for (const std::string& place : places) {
    if (!leads_through_process(place)) continue;
    return "it looks for runtimes at " + place +
           ", and Landlock forbids what /proc/PID/root leads to; share the directory as a volume instead";
  }
  if (::geteuid() != 0 || !settings.dump.directory.empty()) return {};
  return "as root it reaches dumps in other mount namespaces through /proc/PID/root, which Landlock forbids; "
         "name their place with [dump] directory, or run as another user";
}

}  // namespace

Result<void> become_user(const config::ServeSettings& settings) {
  if (settings.confinement.user.empty()) return {};
  ASSIGN_OR_RETURN(const auto user, confinement::find_user(settings.confinement.user));
  // Needed to listen below port 1024.
  const auto keep = confinement::capability(CAP_NET_BIND_SERVICE);
  RETURN_IF_ERROR(confinement::become(user, keep));
  for (const std::string& file : renewed_files(settings)) {
    RETURN_IF_ERROR(check_readable(file, user));
  }
  return {};
}

confinement::Needs needs_of(const config::ServeSettings& settings) {
  Places places;
  add_system(places);
  for (const std::string& file : renewed_files(settings)) add_renewable(places, file);
  add_audit(places, settings.audit);
  // Runtimes write dumps in the directories of their sockets, unless another place is set.
  const bool streams = std::ranges::any_of(settings.egress, &config::EgressSettings::stream);
  const auto add_shared = [&](const std::string& directory) {
    places.add(directory, {Access::exchange});
    if (streams) places.add(directory, {Access::pipe});
  };
  for (const std::string& directory : settings.search) {
    add_shared(directory);
    // Mirrors keep manifests there that tell which sockets are theirs.
    places.add(directory, {Access::read});
  }
  for (const NamedPath& named : settings.named) add_shared(directory_of(named.path));
  for (const std::string& socket : settings.diagnostic_ports) {
    add_shared(directory_of(socket));
    places.add(directory_of(socket), {Access::remove});
  }
  if (!settings.local.empty()) places.add(directory_of(settings.local), {Access::remove});
  add_shared(settings.dump.directory);
  // Half a line of a journal is cut off.
  places.add(settings.artifacts.directory, {Access::read, Access::write, Access::remove, Access::cut});
  // How much memory a process's group uses, and whether it was killed for lack of it.
  places.add("/sys/fs/cgroup", {Access::read});
  const bool dials = !settings.dial.empty();
  if (dials) add_resolver(places);
  return {places.take(), confinement::agent_capabilities(), dials, landlock_conflict(settings)};
}

namespace {

/// Whom a command runs as; empty: as now.
Result<std::optional<confinement::User>> user_of(const config::CommandSettings& command,
                                                 const CommandOwner& owner,
                                                 const config::ServeSettings& settings) {
  const std::string what = "run the commands of " + owner.name;
  const std::string& name = command.user.empty() ? settings.confinement.user : command.user;
  if (name.empty() && ::geteuid() != 0) return std::nullopt;
  if (name.empty())
    return fail(what, "as root", "they would read everything here",
                "write " + owner.user_key + " = \"NAME\" or \"NUMBER:GROUP\"");
  ASSIGN_OR_RETURN(auto user, confinement::find_user(name));
  if (::geteuid() != 0) {
    if (::geteuid() == user.uid && ::getegid() == user.gid) return std::nullopt;
    return fail(what, "as " + name, "only root can become another user",
                "leave " + owner.user_key + " out, or start farport as root");
  }
  const auto own = confinement::own_capabilities();
  for (const int needed : {CAP_SETUID, CAP_SETGID, CAP_KILL}) {
    if (own && (*own & confinement::capability(needed)) == 0)
      return fail(what, "as " + name, "the agent lacks a capability that this takes",
                  "give it CAP_SETUID, CAP_SETGID and CAP_KILL");
  }
  return user;
}

}  // namespace

confinement::CommandRights with_program(confinement::CommandRights rights, const std::string& program) {
  if (rights.files.empty()) return rights;
  Places places;
  places.add(program, {Access::read, Access::execute});
  for (confinement::FileRule& rule : places.take()) rights.files.push_back(std::move(rule));
  return rights;
}

Result<confinement::CommandRights> rights_of(const config::CommandSettings& command,
                                             const CommandOwner& owner,
                                             const config::ServeSettings& settings) {
  confinement::CommandRights rights;
  ASSIGN_OR_RETURN(rights.user, user_of(command, owner, settings));
  rights.required = settings.confinement.mode == "required";
  if (settings.confinement.mode == "off") return rights;
  Places places;
  add_system(places);
  add_resolver(places);
  for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt"}) {
    places.add(path, {Access::read, Access::execute});
  }
  for (const char* path : {"/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/ld.so.cache", "/etc/passwd",
                           "/etc/group", "/etc/mime.types", "/etc/services", "/dev/zero", "/dev/random"}) {
    places.add(path, {Access::read});
  }
  for (const std::string& path : command.reads) places.add(path, {Access::read});
  for (const std::string& path : command.writes)
    places.add(path, {Access::read, Access::write, Access::cut, Access::exchange, Access::remove});
  rights.files = places.take();
  return rights;
}

Result<void> confine_agent(const config::ServeSettings& settings, const Log& log) {
  if (settings.confinement.mode == "off") {
    log->warn("not confined: it is switched off");
    return {};
  }
  const confinement::Confinement confinement = confinement::confine(needs_of(settings));
  log->info("confined: {}", confinement::join(confinement.in_force));
  if (confinement.missing.empty()) return {};
  const std::string missing = confinement::join(confinement.missing);
  if (settings.confinement.mode == "required") {
    return fail("confine", "the agent as --confine=required asks", missing);
  }
  log->info("not confined by all means: {}", missing);
  return {};
}

}  // namespace farport::cli
