#include "cli/commands/quickstart_certificates.hpp"

#include "auth/issue.hpp"

namespace farport::cli {
namespace {

Result<auth::Credentials> credentials_from(const auth::Issued& ca, auth::CertificateRequest wanted) {
  const auto request = auth::complete_request(std::move(wanted));
  if (!request) return tl::unexpected(request.error());
  auto issued = auth::make_certificate(ca, *request);
  if (!issued) return tl::unexpected(issued.error());
  auth::Credentials made;
  made.chain.push_back(std::move(issued->certificate));
  made.key = std::move(issued->key);
  made.anchors.emplace_back(X509_dup(ca.certificate.get()));
  return made;
}

}  // namespace

Result<Sides> make_sides(const std::string& agent_name, const std::string& guest_name) {
  const auto ca = auth::make_ca();
  if (!ca) return tl::unexpected(ca.error());
  auth::CertificateRequest agent;
  agent.side = auth::Side::server;
  agent.name = agent_name;
  auth::CertificateRequest guest;
  guest.name = guest_name;
  auto agents = credentials_from(*ca, std::move(agent));
  if (!agents) return tl::unexpected(agents.error());
  auto guests = credentials_from(*ca, std::move(guest));
  if (!guests) return tl::unexpected(guests.error());
  return Sides{std::move(*agents), std::move(*guests)};
}

}  // namespace farport::cli
