// The configuration file: TOML, one schema for the agent's side and the mirror's (docs/configuration.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/settings.hpp"

namespace farport::config {

/// What a file says. Members that it leaves out have their defaults.
struct File {
  std::string host_name;
  std::vector<Address> listen;
  bool reuse_port = false;
  std::string insecure_loopback;  ///< ADDR:PORT or ADDR:PORT=ROLE; empty: none.
  TlsFiles tls;
  LogSettings log;
  bool has_log_level = false;
  std::vector<std::string> search;
  std::vector<NamedSocket> named;
  std::vector<std::string> diagnostic_ports;
  std::optional<Milliseconds> resume_after;
  Milliseconds rescan{5000};
  std::vector<auth::RoleRule> roles;
  std::vector<auth::Grant> grants;
  std::string audit = "stderr";
  bool audit_waits = false;
  DumpSettings dump;
  ConfinementSettings confinement;
  LimitSettings limits;
  SessionSettings session;
  Milliseconds drain{10'000};
  std::string socket_dir;
  std::map<std::string, RemoteSettings> remotes;
};

/// All that is wrong with a file: one line each, "FILE:LINE:COLUMN: what is wrong".
using FileErrors = std::vector<std::string>;

/// Reads a file. Relative paths in it are relative to its directory.
[[nodiscard]] tl::expected<File, FileErrors> read_file(const std::string& path);

/// The same for a text that stands for the file at `path`.
[[nodiscard]] tl::expected<File, FileErrors> parse_file(const std::string& text, const std::string& path);

/// $XDG_CONFIG_HOME/farport/config.toml, else ~/.config/farport/config.toml; empty where there is no home.
[[nodiscard]] std::string default_file();

}  // namespace farport::config
