// The `certs` commands: a small CA and its certificates, for users without a PKI.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <fmt/core.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>

#include "auth/credentials.hpp"
#include "auth/issue.hpp"
#include "base/files.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/terminal/passphrases.hpp"
#include "cli/terminal/table.hpp"

namespace farport::cli {
namespace {

/// `farport certs init DIR`
struct CertsInitSettings {
  std::string directory;
  bool force = false;  ///< --force: replace a CA that is there already.
};

/// `farport certs server DIR --name N …` and `farport certs client DIR --name N …`
struct CertsIssueSettings {
  std::string directory;             ///< Where ca.crt and ca.key are; the new files go beside them.
  auth::CertificateRequest request;  ///< Its name is the files' too.
  bool force = false;                ///< --force: replace files of that name.
};

/// `farport certs bundle DIR --name N …`
struct CertsBundleSettings {
  std::string directory;        ///< Where ca.crt, NAME.crt and NAME.key are.
  std::string name;             ///< --name
  std::string output;           ///< --output; empty: DIR/NAME.pem.
  bool encrypt = false;         ///< --encrypt: ask for a passphrase.
  std::string passphrase_file;  ///< --passphrase-file: encrypt with its first line.
  bool force = false;           ///< --force: replace a file of that name.
};

/// The passphrase for the bundle; null if it is not encrypted.
Result<std::unique_ptr<auth::Passphrase>> passphrase_for(const std::string& path,
                                                         const CertsBundleSettings& settings) {
  if (!settings.encrypt && settings.passphrase_file.empty()) return nullptr;
  ASSIGN_OR_RETURN(auto passphrase, settings.encrypt ? ask_passphrase(path, true)
                                                     : auth::read_passphrase(settings.passphrase_file));
  return std::make_unique<auth::Passphrase>(std::move(passphrase));
}

/// Makes the directory, accessible to its owner only, since it will hold the CA's key. An existing one is not
/// changed.
Result<void> make_directory(const std::string& path) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(path, error);
  if (error) return fail_errno("make directory", path, error.value(), "check the path and its permissions");
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

void print_next_for_agent(const CertsIssueSettings& settings) {
  print(stdout,
        "\n"
        "Next: farport certs bundle {0} --name {1}\n"
        "puts all into one file, {2}. Copy that to the agent's host and run there:\n"
        "  farport serve --listen 0.0.0.0:9000 --allow-cn alice=operator --tls-bundle {1}.pem\n"
        "where alice is the name of a client certificate:\n"
        "  farport certs client {0} --name alice\n",
        settings.directory, settings.request.name,
        auth::bundle_path(settings.directory, settings.request.name));
}

void print_next_for_mirror(const CertsIssueSettings& settings) {
  print(stdout,
        "\n"
        "Next: farport certs bundle {0} --name {1}\n"
        "puts all into one file, {2}. Copy that to the tools' host and run there:\n"
        "  farport connect HOST:9000 --tls-bundle {1}.pem\n"
        "The agent must allow it: farport serve … --allow-cn '{1}=operator'\n",
        settings.directory, settings.request.name,
        auth::bundle_path(settings.directory, settings.request.name));
  for (const auto& uri : settings.request.uris)
    print(stdout, "                     or: farport serve … --allow-uri '{}=operator'\n", uri);
}

int issue(const CertsIssueSettings& settings) {
  ASSIGN_OR_REPORT(const auto request, auth::complete_request(settings.request), kUsage);
  ASSIGN_OR_REPORT(const auto ca, auth::load_ca(settings.directory), kFailure);
  ASSIGN_OR_REPORT(const auto issued, auth::make_certificate(ca, request), kFailure);
  const auth::PairPaths paths = auth::pair_paths(settings.directory, request.name);
  REPORT_IF_ERROR(auth::write_pair(paths, issued, settings.force), kFailure);
  print(stdout,
        "{}  certificate for a {}: {}; valid until {}\n"
        "{}  private key: keep it secret\n",
        paths.cert, request.side == auth::Side::server ? "server (an agent)" : "client (a mirror)",
        listed(request), end_of(issued), paths.key);
  if (request.side == auth::Side::server) {
    print_next_for_agent(settings);
  } else {
    print_next_for_mirror(settings);
  }
  return kSuccess;
}

int certs_init(const CertsInitSettings& settings) {
  REPORT_IF_ERROR(make_directory(settings.directory), kFailure);
  ASSIGN_OR_REPORT(const auto ca, auth::make_ca(), kFailure);
  const auth::PairPaths paths = auth::pair_paths(settings.directory, "ca");
  REPORT_IF_ERROR(auth::write_pair(paths, ca, settings.force), kFailure);
  print(stdout,
        "{0}  CA certificate, for every agent and every mirror; valid until {2}\n"
        "{1}  CA key: keep it here; whoever has it can issue certificates\n"
        "\n"
        "Next:\n"
        "  farport certs server {3} --name orders --dns orders.prod.example --ip 10.0.0.2\n"
        "  farport certs client {3} --name alice\n",
        paths.cert, paths.key, end_of(ca), settings.directory);
  return kSuccess;
}

int certs_bundle(const CertsBundleSettings& settings) {
  ASSIGN_OR_REPORT(const auto issued, auth::load_issued(settings.directory, settings.name), kFailure);
  const std::string path =
      settings.output.empty() ? auth::bundle_path(settings.directory, settings.name) : settings.output;
  ASSIGN_OR_REPORT(const auto passphrase, passphrase_for(path, settings), kFailure);
  REPORT_IF_ERROR(auth::write_bundle(path, issued, passphrase.get(), settings.force), kFailure);
  const bool server = X509_check_purpose(issued.chain.front().get(), X509_PURPOSE_SSL_SERVER, 0) == 1;
  print(
      stdout, "{}  certificate, {} and CA of {}: keep it secret\n\nNext: {}\n  {} --tls-bundle {}\n", path,
      passphrase ? "encrypted key" : "key", settings.name,
      server ? "copy it to the agent's host and run there:" : "copy it to the tools' host and run there:",
      server ? "farport serve --listen 0.0.0.0:9000 --allow-cn alice=operator" : "farport connect HOST:9000",
      file_of(path));
  return kSuccess;
}

constexpr const char* kCertsAbout =
    "Creates a small CA, certificates (ECDSA P-256, valid for 90 days) and bundles (one file for each\n"
    "side), for use without a PKI of your own.";
constexpr const char* kCertsExamples = R"(Examples:
  farport certs init certs
  farport certs server certs --name agent --dns orders.example --ip 10.0.0.2
  farport certs client certs --name alice \
      --uri spiffe://acme.example/ns/prod/sa/oncall
  farport certs bundle certs --name alice --encrypt)";

RunCommand add_certs_init_options(CLI::App& options, config::Flags& /*flags*/) {
  const auto into = std::make_shared<CertsInitSettings>();
  options.add_option("DIR", into->directory, "Directory for the CA; created if missing")->required();
  options.add_flag("--force", into->force, "Replace an existing CA");
  return [into] { return certs_init(*into); };
}

template <auth::Side side>
RunCommand add_certs_issue_options(CLI::App& options, config::Flags& /*flags*/) {
  const auto into = std::make_shared<CertsIssueSettings>();
  auth::CertificateRequest& request = into->request;
  request.side = side;
  options.add_option("DIR", into->directory, "Directory that holds ca.crt and ca.key")->required();
  options.add_option("--name", request.name, "Common name of the certificate, and name of its files")
      ->required()
      ->type_name("NAME");
  add_list(options, "--dns", request.dns, "DNS name to put into the certificate; may be repeated", "NAME");
  add_list(options, "--ip", request.ips, "IP address to put into the certificate; may be repeated",
           "ADDRESS");
  add_list(options, "--uri", request.uris,
           "URI to put into the certificate, such as a SPIFFE ID; may be repeated", "URI");
  options.add_flag("--force", into->force, "Replace existing files");
  return [into] { return issue(*into); };
}

RunCommand add_certs_bundle_options(CLI::App& options, config::Flags& /*flags*/) {
  const auto into = std::make_shared<CertsBundleSettings>();
  options.add_option("DIR", into->directory, "Directory that holds ca.crt, NAME.crt and NAME.key")
      ->required();
  options.add_option("--name", into->name, "Name of the certificate")->required()->type_name("NAME");
  options.add_option("-o,--output", into->output, "Output file [DIR/NAME.pem]")->type_name("FILE");
  CLI::Option* const encrypt =
      options.add_flag("--encrypt", into->encrypt, "Encrypt the key with a passphrase, prompted for");
  options
      .add_option("--passphrase-file", into->passphrase_file,
                  "Encrypt the key with the first line of this file")
      ->type_name("FILE")
      ->excludes(encrypt);
  options.add_flag("--force", into->force, "Replace an existing file");
  return [into] { return certs_bundle(*into); };
}

}  // namespace

const Command kCerts{"certs", "Create a small CA and certificates", kCertsAbout, kCertsExamples, nullptr};
const Command kCertsInit{"certs init", "Create a CA: DIR/ca.crt and DIR/ca.key", nullptr, nullptr,
                         add_certs_init_options};
const Command kCertsServer{"certs server", "Issue a certificate for an agent: DIR/NAME.crt and DIR/NAME.key",
                           nullptr, nullptr, add_certs_issue_options<auth::Side::server>};
const Command kCertsClient{"certs client", "Issue a certificate for a mirror: DIR/NAME.crt and DIR/NAME.key",
                           nullptr, nullptr, add_certs_issue_options<auth::Side::client>};
const Command kCertsBundle{"certs bundle",
                           "Combine a certificate, its key and the CA in one file: DIR/NAME.pem", nullptr,
                           nullptr, add_certs_bundle_options};

}  // namespace farport::cli
