#include "config/file.hpp"

#include <cstdlib>
#include <filesystem>

#include "base/regular_file.hpp"
#include "config/file_grants.hpp"
#include "config/file_reader.hpp"

namespace farport::config {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1024} * 1024;

const Schema<TlsFiles>& tls_schema() {
  static const Schema<TlsFiles> schema{
      {"cert", [](Reader& r, const toml::node& n, TlsFiles& t) { r.path(n, t.cert); }},
      {"key", [](Reader& r, const toml::node& n, TlsFiles& t) { r.path(n, t.key); }},
      {"ca", [](Reader& r, const toml::node& n, TlsFiles& t) { r.path(n, t.ca); }},
      {"crl", [](Reader& r, const toml::node& n, TlsFiles& t) { r.path(n, t.crl); }},
  };
  return schema;
}

const Schema<File>& log_schema() {
  static const Schema<File> schema{
      {"level",
       [](Reader& r, const toml::node& n, File& f) {
         r.choice(n, f.log.level, {"trace", "debug", "info", "warn", "error", "off"});
         f.has_log_level = true;
       }},
      {"format",
       [](Reader& r, const toml::node& n, File& f) {
         r.choice(n, f.log.format, {"text", "json"});
       }},
  };
  return schema;
}

void read_named(Reader& reader, const toml::node& node, File& file) {
  reader.free_table(node, [&](const std::string& name, const toml::node& value) {
    reader.path(value, file.named.emplace_back(NamedSocket{name, {}}).path);
  });
}

const Schema<File>& runtimes_schema() {
  static const Schema<File> schema{
      {"search", [](Reader& r, const toml::node& n, File& f) { r.paths(n, f.search); }},
      {"rescan", [](Reader& r, const toml::node& n, File& f) { r.duration(n, f.rescan); }},
      {"named", read_named},
      {"diagnostic_port", [](Reader& r, const toml::node& n, File& f) { r.paths(n, f.diagnostic_ports); }},
      {"resume_after",
       [](Reader& r, const toml::node& n, File& f) { r.duration(n, f.resume_after.emplace()); }},
  };
  return schema;
}

const Schema<File>& audit_schema() {
  static const Schema<File> schema{
      {"to", [](Reader& r, const toml::node& n, File& f) { r.audit(n, f.audit); }},
      {"wait", [](Reader& r, const toml::node& n, File& f) { r.flag(n, f.audit_waits); }},
  };
  return schema;
}

const Schema<DumpSettings>& dump_schema() {
  static const Schema<DumpSettings> schema{
      {"directory", [](Reader& r, const toml::node& n, DumpSettings& d) { r.path(n, d.directory); }},
      {"runtime_directory",
       [](Reader& r, const toml::node& n, DumpSettings& d) { r.text(n, d.runtime_directory); }},
      {"max_size", [](Reader& r, const toml::node& n, DumpSettings& d) { r.bytes(n, d.max_bytes); }},
      {"keep_free", [](Reader& r, const toml::node& n, DumpSettings& d) { r.bytes(n, d.keep_free_bytes); }},
  };
  return schema;
}

const Schema<ConfinementSettings>& confinement_schema() {
  static const Schema<ConfinementSettings> schema{
      {"user", [](Reader& r, const toml::node& n, ConfinementSettings& c) { r.text(n, c.user); }},
      {"mode", [](Reader& r, const toml::node& n,
                  ConfinementSettings& c) { r.choice(n, c.mode, confinement_choice().words); }},
  };
  return schema;
}

/// Numbers stand for themselves, sizes and durations are strings.
void read_limits(Reader& reader, const toml::node& node, File& file) {
  reader.free_table(node, [&](const std::string& name, const toml::node& value) {
    std::vector<std::string> words;
    reader.words(value, words);
    if (words.size() != 1 || words.front().empty()) return;
    const Result<void> set = set_limit(file.limits, name, words.front());
    if (!set) reader.problem(value.source(), set.error().message());
  });
}

const Schema<File>& session_schema() {
  static const Schema<File> schema{
      {"grace", [](Reader& r, const toml::node& n, File& f) { r.duration(n, f.session.grace); }},
      {"ping_interval",
       [](Reader& r, const toml::node& n, File& f) { r.duration(n, f.session.ping_interval); }},
      {"ping_timeout",
       [](Reader& r, const toml::node& n, File& f) { r.duration(n, f.session.ping_timeout); }},
      {"compression", [](Reader& r, const toml::node& n,
                         File& f) { r.choice(n, f.session.compression, compression_choice().words); }},
      {"drain", [](Reader& r, const toml::node& n, File& f) { r.duration(n, f.drain); }},
  };
  return schema;
}

const Schema<File>& connect_schema() {
  static const Schema<File> schema{
      {"socket_dir", [](Reader& r, const toml::node& n, File& f) { r.path(n, f.socket_dir); }},
  };
  return schema;
}

const Schema<RemoteSettings>& remote_schema() {
  static const Schema<RemoteSettings> schema{
      {"address", [](Reader& r, const toml::node& n, RemoteSettings& s) { r.addresses(n, s.addresses); }},
      {"server_name", [](Reader& r, const toml::node& n, RemoteSettings& s) { r.text(n, s.server_name); }},
      {"verify", [](Reader& r, const toml::node& n, RemoteSettings& s) { read_names(r, n, s.verify); }},
      {"tls",
       [](Reader& r, const toml::node& n, RemoteSettings& s) { read_table(r, n, tls_schema(), s.tls); }},
      {"select", [](Reader& r, const toml::node& n, RemoteSettings& s) { r.texts(n, s.select); }},
  };
  return schema;
}

void read_remotes(Reader& reader, const toml::node& node, File& file) {
  reader.free_table(node, [&](const std::string& name, const toml::node& value) {
    RemoteSettings& remote = file.remotes[name];
    remote.profile = name;
    read_table(reader, value, remote_schema(), remote);
    if (value.is_table() && remote.addresses.empty() && !value.as_table()->contains("address")) {
      reader.problem(value.source(), "the remote \"" + name + "\" has no address");
    }
  });
}

const Schema<File>& file_schema() {
  static const Schema<File> schema{
      {"host_name", [](Reader& r, const toml::node& n, File& f) { r.text(n, f.host_name); }},
      {"listen", [](Reader& r, const toml::node& n, File& f) { r.addresses(n, f.listen); }},
      {"reuse_port", [](Reader& r, const toml::node& n, File& f) { r.flag(n, f.reuse_port); }},
      {"insecure_loopback", [](Reader& r, const toml::node& n, File& f) { r.text(n, f.insecure_loopback); }},
      {"tls", [](Reader& r, const toml::node& n, File& f) { read_table(r, n, tls_schema(), f.tls); }},
      {"log", [](Reader& r, const toml::node& n, File& f) { read_table(r, n, log_schema(), f); }},
      {"runtimes", [](Reader& r, const toml::node& n, File& f) { read_table(r, n, runtimes_schema(), f); }},
      {"roles", [](Reader& r, const toml::node& n, File& f) { read_roles(r, n, f.roles); }},
      {"grants", [](Reader& r, const toml::node& n, File& f) { read_grants(r, n, f.grants); }},
      {"allow", [](Reader& r, const toml::node& n, File& f) { read_allow(r, n, f.grants); }},
      {"audit", [](Reader& r, const toml::node& n, File& f) { read_table(r, n, audit_schema(), f); }},
      {"dump", [](Reader& r, const toml::node& n, File& f) { read_table(r, n, dump_schema(), f.dump); }},
      {"confinement", [](Reader& r, const toml::node& n,
                         File& f) { read_table(r, n, confinement_schema(), f.confinement); }},
      {"limits", read_limits},
      {"session", [](Reader& r, const toml::node& n, File& f) { read_table(r, n, session_schema(), f); }},
      {"connect", [](Reader& r, const toml::node& n, File& f) { read_table(r, n, connect_schema(), f); }},
      {"remotes", read_remotes},
  };
  return schema;
}

}  // namespace

tl::expected<File, FileErrors> parse_file(const std::string& text, const std::string& path) {
  Reader reader(path);
  File file;
  try {
    const toml::table table = toml::parse(text, path);
    read_table(reader, table, file_schema(), file);
  } catch (const toml::parse_error& error) {
    reader.problem(error.source(), std::string(error.description()));
  }
  if (!reader.ok()) return tl::unexpected(reader.take_errors());
  return file;
}

tl::expected<File, FileErrors> read_file(const std::string& path) {
  const auto text = read_regular_file("the configuration", path, kLargestFile);
  if (!text) return tl::unexpected(FileErrors{text.error().message()});
  return parse_file(*text, path);
}

std::string default_file() {
  const char* config_home = std::getenv("XDG_CONFIG_HOME");
  if (config_home != nullptr && config_home[0] == '/')
    return std::string(config_home) + "/farport/config.toml";
  const char* home = std::getenv("HOME");
  return home == nullptr ? std::string() : std::string(home) + "/.config/farport/config.toml";
}

}  // namespace farport::config
