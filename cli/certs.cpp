#include "cli/certs.hpp"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fmt/core.h>
#include <sys/stat.h>

#include "auth/issue.hpp"
#include "base/directory.hpp"
#include "cli/commands.hpp"
#include "cli/text.hpp"

namespace farport::cli {
namespace {

/// Makes the directory, for its owner alone: the CA's key will be in it. One that exists stays as it is.
Result<void> make_directory(const std::string& path) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(path, error);
  if (error) return fail_errno("make directory", path, error.value(), "is the path right, and writable?");
  if (made && chmod(path.c_str(), S_IRWXU) != 0) return fail_errno("make directory", path, errno);
  return {};
}

std::string listed(const auth::CertificateRequest& request) {
  std::string text = "CN=" + request.name;
  for (const auto& dns : request.dns) text += ", DNS " + dns;
  for (const auto& ip : request.ips) text += ", IP " + ip;
  for (const auto& uri : request.uris) text += ", URI " + uri;
  return text;
}

std::string end_of(const auth::Issued& issued) {
  return auth::time_text(X509_get0_notAfter(issued.certificate.get()));
}

void print_next_for_agent(const CertsIssueSettings& settings, const auth::PairPaths& paths) {
  const std::string ca = auth::pair_paths(settings.directory, "ca").cert;
  print(stdout,
        "\nNext: copy {0}, {1} and {2} to the agent's host, and there\n"
        "  farport serve --listen 0.0.0.0:9000 --allow-cn alice=operator \\\n"
        "      --tls-cert {4} --tls-key {5} --tls-ca {6}\n"
        "where alice is the name of a client certificate:\n"
        "  farport certs client {3} --name alice\n",
        paths.cert, paths.key, ca, settings.directory, file_of(paths.cert), file_of(paths.key), file_of(ca));
}

void print_next_for_mirror(const CertsIssueSettings& settings, const auth::PairPaths& paths) {
  const std::string ca = auth::pair_paths(settings.directory, "ca").cert;
  print(stdout,
        "\nNext: on the tools' host, with {0}, {1} and {2}:\n"
        "  farport connect HOST:9000 \\\n"
        "      --tls-cert {0} --tls-key {1} --tls-ca {2}\n"
        "The agent must allow it: farport serve … --allow-cn '{3}=operator'\n",
        paths.cert, paths.key, ca, settings.name);
  for (const auto& uri : settings.uris)
    print(stdout, "                     or: farport serve … --allow-uri '{}=operator'\n", uri);
}

int issue(const CertsIssueSettings& settings, auth::Side side) {
  auth::CertificateRequest wanted;
  wanted.side = side;
  wanted.name = settings.name;
  wanted.dns = settings.dns;
  wanted.ips = settings.ips;
  wanted.uris = settings.uris;
  const auto request = auth::complete_request(std::move(wanted));
  if (!request) return report(request.error(), kUsage);
  const auto ca = auth::load_ca(settings.directory);
  if (!ca) return report(ca.error(), kFailure);
  const auto issued = auth::make_certificate(*ca, *request);
  if (!issued) return report(issued.error(), kFailure);
  const auth::PairPaths paths = auth::pair_paths(settings.directory, settings.name);
  if (auto written = auth::write_pair(paths, *issued, settings.force); !written) {
    return report(written.error(), kFailure);
  }
  print(stdout, "{}  certificate for a {}: {}; valid until {}\n{}  its private key: keep it secret\n",
        paths.cert, side == auth::Side::server ? "server (an agent)" : "client (a mirror)", listed(*request),
        end_of(*issued), paths.key);
  if (side == auth::Side::server) {
    print_next_for_agent(settings, paths);
  } else {
    print_next_for_mirror(settings, paths);
  }
  return kSuccess;
}

}  // namespace

int certs_init(const CertsInitSettings& settings) {
  if (auto made = make_directory(settings.directory); !made) return report(made.error(), kFailure);
  const auto ca = auth::make_ca();
  if (!ca) return report(ca.error(), kFailure);
  const auth::PairPaths paths = auth::pair_paths(settings.directory, "ca");
  if (auto written = auth::write_pair(paths, *ca, settings.force); !written) {
    return report(written.error(), kFailure);
  }
  print(stdout,
        "{0}  the CA's certificate: goes to every agent and every mirror; valid until {2}\n"
        "{1}  the CA's key: stays here; anyone who has it can issue certificates\n"
        "\nNext:\n"
        "  farport certs server {3} --name orders --dns orders.prod.example --ip 10.0.0.2\n"
        "  farport certs client {3} --name alice\n",
        paths.cert, paths.key, end_of(*ca), settings.directory);
  return kSuccess;
}

int certs_server(const CertsIssueSettings& settings) {
  return issue(settings, auth::Side::server);
}

int certs_client(const CertsIssueSettings& settings) {
  return issue(settings, auth::Side::client);
}

}  // namespace farport::cli
