#include "config/flags.hpp"

#include <cstdlib>

namespace farport::config {
namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t comma = std::min(list.find(',', start), list.size());
    if (comma > start) items.push_back(list.substr(start, comma - start));
    start = comma + 1;
  }
  return items;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

void take_environment(Flags& flags, const Environment& environment) {
  const auto one = [&](std::optional<std::string>& flag, const char* name) {
    if (!flag) flag = environment(name);
  };
  const auto many = [&](std::vector<std::string>& flag, const char* name) {
    if (flag.empty()) flag = split(environment(name).value_or(""));
  };
  one(flags.config, "FARPORT_CONFIG");
  one(flags.log_level, "FARPORT_LOG_LEVEL");
  one(flags.log_format, "FARPORT_LOG_FORMAT");
  one(flags.tls_cert, "FARPORT_TLS_CERT");
  one(flags.tls_key, "FARPORT_TLS_KEY");
  one(flags.tls_ca, "FARPORT_TLS_CA");
  one(flags.tls_crl, "FARPORT_TLS_CRL");
  one(flags.host_name, "FARPORT_HOST_NAME");
  many(flags.listen, "FARPORT_LISTEN");
  const std::string reuse_port = environment("FARPORT_REUSE_PORT").value_or("");
  if (reuse_port == "1" || reuse_port == "true") flags.reuse_port = true;
  one(flags.insecure_loopback, "FARPORT_INSECURE_LOOPBACK");
  many(flags.search, "FARPORT_SEARCH");
  many(flags.runtime, "FARPORT_RUNTIME");
  many(flags.diagnostic_port, "FARPORT_DIAGNOSTIC_PORT");
  one(flags.resume_after, "FARPORT_RESUME_AFTER");
  many(flags.allow_cn, "FARPORT_ALLOW_CN");
  many(flags.allow_dns, "FARPORT_ALLOW_DNS");
  many(flags.allow_uri, "FARPORT_ALLOW_URI");
  many(flags.allow_ip, "FARPORT_ALLOW_IP");
  if (!flags.allow_all) {
    flags.allow_all = environment("FARPORT_ALLOW_ALL");
    if (flags.allow_all == "0" || flags.allow_all == "false") flags.allow_all.reset();
    if (flags.allow_all == "1" || flags.allow_all == "true") flags.allow_all = "";
  }
  one(flags.audit, "FARPORT_AUDIT");
  many(flags.limit, "FARPORT_LIMIT");
  one(flags.dump_directory, "FARPORT_DUMP_DIRECTORY");
  one(flags.dump_runtime_directory, "FARPORT_DUMP_RUNTIME_DIRECTORY");
  one(flags.grace, "FARPORT_GRACE");
  one(flags.ping_interval, "FARPORT_PING_INTERVAL");
  one(flags.ping_timeout, "FARPORT_PING_TIMEOUT");
  one(flags.compression, "FARPORT_COMPRESSION");
  one(flags.drain, "FARPORT_DRAIN");
  one(flags.user, "FARPORT_USER");
  one(flags.confine, "FARPORT_CONFINE");
  one(flags.server_name, "FARPORT_SERVER_NAME");
  many(flags.verify_cn, "FARPORT_VERIFY_CN");
  many(flags.verify_uri, "FARPORT_VERIFY_URI");
  many(flags.verify_pin, "FARPORT_VERIFY_PIN");
  one(flags.socket_dir, "FARPORT_SOCKET_DIR");
  many(flags.socket, "FARPORT_SOCKET");
  many(flags.to, "FARPORT_TO");
  many(flags.select, "FARPORT_SELECT");
  one(flags.log_file, "FARPORT_LOG_FILE");
}

}  // namespace farport::config
