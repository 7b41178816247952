// The flags as given, and what the environment gives in their place.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace farport::config {

/// Every flag of every command that takes settings; a command leaves those that it doesn't have empty.
struct Flags {
  std::optional<std::string> config;
  std::optional<std::string> log_level;
  std::optional<std::string> log_format;
  std::optional<std::string> tls_cert;
  std::optional<std::string> tls_key;
  std::optional<std::string> tls_ca;
  std::optional<std::string> tls_crl;

  std::optional<std::string> host_name;
  std::vector<std::string> listen;
  bool reuse_port = false;
  std::optional<std::string> insecure_loopback;
  std::vector<std::string> search;
  std::vector<std::string> runtime;
  std::vector<std::string> diagnostic_port;
  std::optional<std::string> resume_after;
  std::vector<std::string> allow_cn;
  std::vector<std::string> allow_dns;
  std::vector<std::string> allow_uri;
  std::vector<std::string> allow_ip;
  std::optional<std::string> allow_all;  ///< The role; empty: the default one.
  std::optional<std::string> audit;
  std::vector<std::string> limit;  ///< NAME=VALUE.
  std::optional<std::string> dump_directory;
  std::optional<std::string> dump_runtime_directory;
  std::optional<std::string> user;
  std::optional<std::string> confine;

  std::optional<std::string> grace;
  std::optional<std::string> ping_interval;
  std::optional<std::string> ping_timeout;
  std::optional<std::string> compression;
  std::optional<std::string> drain;

  std::vector<std::string> remotes;  ///< HOST:PORT or profiles.
  std::optional<std::string> server_name;
  std::vector<std::string> verify_cn;
  std::vector<std::string> verify_uri;
  std::vector<std::string> verify_pin;
  std::optional<std::string> socket_dir;
  std::vector<std::string> socket;
  std::vector<std::string> to;
  std::vector<std::string> select;
  bool json = false;
  bool detach = false;                  ///< Of `connect`.
  std::optional<std::string> log_file;  ///< Of `connect --detach`.

  std::string command;                      ///< Of `can-i` and `check --as`: a command's name; empty: all.
  std::optional<std::string> as;            ///< Of `check`: an identity.
  std::optional<std::string> runtime_name;  ///< Of `check --as`: a runtime's name.

  std::string dump_target;  ///< Of `dump`: AGENT[/RUNTIME].
  std::string output;
  std::string dump_type = "heap";
  bool stay = false;
  bool force = false;  ///< Of `dump`: replace the file.
  bool all = false;    ///< Of `can-i`: each command of the protocol; of `disconnect`: each mirror.

  std::vector<std::string> tool;
};

/// Looks a variable up; nothing where it isn't set. Handed in, so that tests have an environment of their
/// own.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
/// The process's own environment.
[[nodiscard]] Environment process_environment();

/// Fills what no flag gives from the FARPORT_* variables. Lists there are separated by commas.
void take_environment(Flags& flags, const Environment& environment);

}  // namespace farport::config
