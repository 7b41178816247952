#include "config/resolver.hpp"

#include <filesystem>

#include "config/assign.hpp"
#include "config/values.hpp"

namespace farport::config {

Resolver::Resolver(const Flags& flags, std::string_view command) : flags_(flags), command_(command) {
  const std::string path = file_path();
  if (!path.empty()) {
    auto file = read_file(path);
    if (file) {
      configuration_ = std::move(*file);
    } else {
      problems_ = std::move(file.error());
    }
  }
  assign(flags.given, command, configuration_, problems_);
}

LogSettings Resolver::log() const {
  LogSettings log = configuration_.log;
  if (log.level.empty()) log.level = LogSettings{}.level;
  return log;
}

void Resolver::require_tls(const TlsFiles& tls, const std::string& what_for) {
  const bool none = tls.cert.empty() && tls.key.empty() && tls.ca.empty();
  if (!tls.bundle.empty()) {
    if (none) return;
    problem("both a bundle (" + tls.bundle + ") and single TLS files for " + what_for +
            ": give --tls-bundle, or --tls-cert, --tls-key and --tls-ca, here, in the environment or in the "
            "configuration file");
    return;
  }
  if (!tls.passphrase_file.empty()) {
    problem("a passphrase file for " + what_for + ", but no bundle: give --tls-bundle as well");
  }
  if (none) {
    problem("no certificates for " + what_for +
            ": give --tls-bundle, or --tls-cert, --tls-key and --tls-ca, or set FARPORT_TLS_BUNDLE, or "
            "FARPORT_TLS_CERT, FARPORT_TLS_KEY and FARPORT_TLS_CA, or tls.bundle, or tls.cert, tls.key and "
            "tls.ca in the configuration file (farport certs makes certificates)");
    return;
  }
  const auto require = [&](const std::string& value, const std::string& name, const std::string& variable) {
    if (!value.empty()) return;
    problem("no TLS " + name + " for " + what_for + ": give --tls-" + name + " FILE, " + variable +
            " or tls." + name + " in the configuration file (farport certs makes certificates)");
  };
  require(tls.cert, "cert", "FARPORT_TLS_CERT");
  require(tls.key, "key", "FARPORT_TLS_KEY");
  require(tls.ca, "ca", "FARPORT_TLS_CA");
}

ProxyChoice Resolver::proxy() {
  const std::string& url = configuration_.proxy.empty() ? flags_.https_proxy : configuration_.proxy;
  ProxyChoice choice{{}, flags_.no_proxy};
  if (!url.empty() && url != kNoProxy) choice.proxy = parsed(url, parse_proxy);
  return choice;
}

std::optional<RemoteSettings> Resolver::remote(const std::string& text) {
  RemoteSettings remote;
  if (const auto profile = configuration_.remotes.find(text); profile != configuration_.remotes.end()) {
    remote = profile->second;
  } else if (is_reach(text)) {
    remote.reach = text;
  } else if (text.find(':') == std::string::npos) {
    problem(no_such_profile(text));
    return std::nullopt;
  } else if (auto address = parsed(text, parse_address)) {
    remote.addresses.push_back(std::move(*address));
  } else {
    return std::nullopt;
  }
  return completed(std::move(remote), text);
}

std::optional<RemoteSettings> Resolver::flagged() {
  for (const char* flag : {"via", "accept"}) {
    const auto given = flags_.given.find(flag);
    if (given != flags_.given.end()) return completed(RemoteSettings{}, given->second.front());
  }
  return std::nullopt;
}

std::vector<RemoteSettings> Resolver::remotes() {
  std::vector<RemoteSettings> all;
  for (const std::string& text : flags_.remotes) {
    const Target target = configuration_.remotes.contains(text) ? Target{text, {}} : split_target(text);
    auto one = remote(target.agent);
    if (!one) continue;
    if (!target.runtime.empty() && !can_select()) {
      problem("farport " + std::string(command_) + " is about agents, and " + text +
              " names a runtime: leave out " + target.runtime);
    }
    if (!target.runtime.empty() && flags_.given.contains("select")) {
      problem("both --select and a runtime, in " + text + ": give one of them");
    }
    if (!target.runtime.empty()) {
      one->select = {target.runtime};
    } else if (command_ == "ps") {
      // A profile's says what is mirrored; all are listed.
      one->select.clear();
    }
    all.push_back(std::move(*one));
  }
  auto one = flagged();
  if (one && !flags_.remotes.empty())
    problem("--via and --accept reach agents by themselves: name no other ones");
  if (one) all.push_back(std::move(*one));
  return all;
}

/// Whether the command may be about some of an agent's runtimes.
bool Resolver::can_select() const {
  return command_ == "connect" || command_ == "run" || command_ == "ps";
}

std::vector<RemoteSettings> Resolver::some_remotes() {
  std::vector<RemoteSettings> all = remotes();
  if (all.empty() && ok()) {
    problem("no agent is named: give HOST:PORT, ssh://HOST, a profile of the configuration file, or --via");
  }
  return all;
}

std::string Resolver::no_such_profile(const std::string& text) const {
  std::vector<std::string> profiles;
  for (const auto& [name, remote] : configuration_.remotes) profiles.push_back(name);
  const std::string meant = nearest(text, profiles);
  return "no remote \"" + text + "\": " +
         (meant.empty() ? "give HOST:PORT, or a profile of [remotes] in the configuration file"
                        : "did you mean \"" + meant + "\"?");
}

/// The file that is named; but for serve, else the user's own where there is one.
std::string Resolver::file_path() const {
  const auto named = flags_.given.find("config");
  if (named != flags_.given.end() && !named->second.front().empty()) return named->second.front();
  if (command_ == "serve") return {};
  std::error_code error;
  const std::string path = default_file();
  return std::filesystem::exists(path, error) ? path : std::string();
}

std::optional<RemoteSettings> Resolver::completed(RemoteSettings remote, const std::string& text) {
  complete(remote.tls);
  assign(flags_.given, command_, remote, problems_);
  const int ways = (remote.addresses.empty() ? 0 : 1) + (remote.accept.empty() ? 0 : 1) +
                   (remote.reach.empty() ? 0 : 1) + (remote.via.empty() ? 0 : 1);
  if (ways != 1 && ok()) problem("the remote " + text + " needs one of address, accept, reach and via");
  // A command brings its own way to know the other side.
  if (!remote.addresses.empty() || !remote.accept.empty()) require_tls(remote.tls, text);
  if (!remote.addresses.empty()) remote.proxy = proxy();
  return remote;
}

/// What a remote's own table leaves out is that of [tls].
void Resolver::complete(TlsFiles& own) const {
  const TlsFiles& common = configuration_.tls;
  // CRLs belong to their CA, a passphrase to its bundle.
  if (own.ca.empty() && own.bundle.empty() && own.crl.empty()) own.crl = common.crl;
  const bool whole = !own.cert.empty() && !own.key.empty() && !own.ca.empty();
  if (whole || !own.bundle.empty()) return;
  if (own.ca.empty()) own.ca = common.ca;
  if (own.cert.empty()) own.cert = common.cert;
  if (own.key.empty()) own.key = common.key;
  own.bundle = common.bundle;
  if (own.passphrase_file.empty()) own.passphrase_file = common.passphrase_file;
}

}  // namespace farport::config
