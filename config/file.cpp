#include "config/file.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <toml++/toml.h>

#include "config/values.hpp"

namespace farport::config {
namespace {

/// Reads nodes into values; collects what is wrong, with its place.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  void problem(const toml::source_region& where, const std::string& what) {
    errors_.push_back(path_ + ":" + std::to_string(where.begin.line) + ":" +
                      std::to_string(where.begin.column) + ": " + what);
  }
  FileErrors take_errors() { return std::move(errors_); }
  [[nodiscard]] bool ok() const { return errors_.empty(); }

  void text(const toml::node& node, std::string& into) {
    if (const auto value = node.value_exact<std::string>()) {
      into = *value;
    } else {
      wrong_type(node, "a string");
    }
  }
  void flag(const toml::node& node, bool& into) {
    if (const auto value = node.value_exact<bool>()) {
      into = *value;
    } else {
      wrong_type(node, "true or false");
    }
  }
  void path(const toml::node& node, std::string& into) {
    text(node, into);
    if (!into.empty()) into = absolute(into);
  }
  void texts(const toml::node& node, std::vector<std::string>& into) {
    each(node, [&](const toml::node& element) { text(element, into.emplace_back()); });
  }
  void paths(const toml::node& node, std::vector<std::string>& into) {
    each(node, [&](const toml::node& element) { path(element, into.emplace_back()); });
  }
  void address(const toml::node& node, Address& into) { parsed(node, parse_address, into); }
  void addresses(const toml::node& node, std::vector<Address>& into) {
    each(node, [&](const toml::node& element) { address(element, into.emplace_back()); });
  }
  void duration(const toml::node& node, Milliseconds& into) { parsed(node, parse_duration, into); }
  void choice(const toml::node& node, std::string& into, const std::vector<std::string>& allowed) {
    text(node, into);
    for (const std::string& word : allowed) {
      if (into == word) return;
    }
    std::string list;
    for (const std::string& word : allowed) list += (list.empty() ? "" : ", ") + word;
    if (node.is_string()) problem(node.source(), "\"" + into + "\" is not one of " + list);
  }
  /// A table whose keys are the user's own words.
  template <typename Each>
  void free_table(const toml::node& node, Each each_entry) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return wrong_type(node, "a table");
    for (const auto& [key, value] : *table) each_entry(std::string(key.str()), value);
  }

 private:
  void wrong_type(const toml::node& node, const char* expected) {
    problem(node.source(), std::string("this must be ") + expected);
  }
  /// The elements of an array; a single value stands for an array of one.
  template <typename Each>
  void each(const toml::node& node, Each each_element) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return each_element(node);
    for (const toml::node& element : *array) each_element(element);
  }
  template <typename T>
  void parsed(const toml::node& node, Result<T> (*parse)(std::string_view), T& into) {
    const auto value = node.value_exact<std::string>();
    if (!value) return wrong_type(node, "a string");
    const Result<T> result = parse(*value);
    if (result) {
      into = *result;
    } else {
      problem(node.source(), result.error().message());
    }
  }
  [[nodiscard]] std::string absolute(const std::string& path) const {
    std::error_code error;
    const auto directory = std::filesystem::absolute(path_, error).parent_path();
    return (directory / path).lexically_normal().string();
  }

  std::string path_;
  FileErrors errors_;
};

/// The keys of a table and what each one sets in a Target.
template <typename Target>
using Schema = std::map<std::string, void (*)(Reader&, const toml::node&, Target&)>;

template <typename Target>
void read_table(Reader& reader, const toml::node& node, const Schema<Target>& schema, Target& target) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    reader.problem(node.source(), "this must be a table");
    return;
  }
  for (const auto& [key, value] : *table) {
    const std::string name(key.str());
    const auto entry = schema.find(name);
    if (entry != schema.end()) {
      entry->second(reader, value, target);
      continue;
    }
    std::vector<std::string> words;
    for (const auto& [word, setter] : schema) words.push_back(word);
    const std::string meant = nearest(name, words);
    reader.problem(key.source(), "unknown key \"" + name + "\"" +
                                     (meant.empty() ? "" : "; did you mean \"" + meant + "\"?"));
  }
}

const Schema<TlsFiles>& tls_schema() {
  static const Schema<TlsFiles> schema{
      {"cert", [](Reader& r, const toml::node& n, TlsFiles& t) { r.path(n, t.cert); }},
      {"key", [](Reader& r, const toml::node& n, TlsFiles& t) { r.path(n, t.key); }},
      {"ca", [](Reader& r, const toml::node& n, TlsFiles& t) { r.path(n, t.ca); }},
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

const Schema<AllowRules>& allow_schema() {
  static const Schema<AllowRules> schema{
      {"cn", [](Reader& r, const toml::node& n, AllowRules& a) { r.texts(n, a.cn); }},
      {"dns", [](Reader& r, const toml::node& n, AllowRules& a) { r.texts(n, a.dns); }},
      {"uri", [](Reader& r, const toml::node& n, AllowRules& a) { r.texts(n, a.uri); }},
      {"all", [](Reader& r, const toml::node& n, AllowRules& a) { r.flag(n, a.all); }},
  };
  return schema;
}

const Schema<File>& limits_schema() {
  static const Schema<File> schema{
      {"handshake_timeout",
       [](Reader& r, const toml::node& n, File& f) { r.duration(n, f.handshake_timeout); }},
      {"first_message_timeout",
       [](Reader& r, const toml::node& n, File& f) { r.duration(n, f.first_message_timeout); }},
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
      {"listen", [](Reader& r, const toml::node& n, File& f) { r.addresses(n, f.listen); }},
      {"insecure_loopback",
       [](Reader& r, const toml::node& n, File& f) { r.address(n, f.insecure_loopback.emplace()); }},
      {"tls", [](Reader& r, const toml::node& n, File& f) { read_table(r, n, tls_schema(), f.tls); }},
      {"log", [](Reader& r, const toml::node& n, File& f) { read_table(r, n, log_schema(), f); }},
      {"runtimes", [](Reader& r, const toml::node& n, File& f) { read_table(r, n, runtimes_schema(), f); }},
      {"allow", [](Reader& r, const toml::node& n, File& f) { read_table(r, n, allow_schema(), f.allow); }},
      {"limits", [](Reader& r, const toml::node& n, File& f) { read_table(r, n, limits_schema(), f); }},
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
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  if (stream) text.assign(std::istreambuf_iterator<char>(stream), {});
  if (!stream || stream.bad()) {
    return tl::unexpected(FileErrors{"cannot read the configuration " + path + ": " + std::strerror(errno)});
  }
  return parse_file(text, path);
}

std::string default_file() {
  const char* config_home = std::getenv("XDG_CONFIG_HOME");
  if (config_home != nullptr && config_home[0] == '/')
    return std::string(config_home) + "/farport/config.toml";
  const char* home = std::getenv("HOME");
  return home == nullptr ? std::string() : std::string(home) + "/.config/farport/config.toml";
}

}  // namespace farport::config
