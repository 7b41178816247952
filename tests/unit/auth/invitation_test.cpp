// Invitations: what is written can be read, and nothing else is taken for one.
#include "auth/invitation.hpp"

#include <catch2/catch.hpp>

#include "auth/credentials.hpp"
#include "auth/issue.hpp"
#include "tests/unit/auth/fixtures.hpp"

namespace farport::auth {
namespace {

using Catch::Contains;
using test::must;
using test::TestCa;

/// What alice is given.
Invitation invitation_of(const TestCa& ca, const std::string& address = "orders.example:9000") {
  static_cast<void>(ca.client("alice"));
  return {address, must(load_issued(ca.directory().path(), "alice"))};
}

std::string written(const Invitation& invitation) {
  const BioPtr text = must(write_invitation(invitation.address, invitation.credentials));
  return std::string(text_in(text.get()));
}

std::string why_not(const std::string& text) {
  const auto read = read_invitation(text);
  return read ? "" : read.error().message();
}

TEST_CASE("an invitation is one word that can be read again", "[auth]") {
  const TestCa ca;
  const std::string address = GENERATE("orders.example:9000", "[fd00::2]:9000");
  const Invitation before = invitation_of(ca, address);
  const std::string text = written(before);
  CHECK(text.find_first_of(" \n'\"\\") == std::string::npos);
  CHECK(text.size() < kLongestInvitation);
  const Invitation after = must(read_invitation(text));
  CHECK(after.address == address);
  CHECK(X509_cmp(before.credentials.chain.front().get(), after.credentials.chain.front().get()) == 0);
  CHECK(EVP_PKEY_eq(before.credentials.key.get(), after.credentials.key.get()) == 1);
  CHECK(X509_cmp(before.credentials.anchors.front().get(), after.credentials.anchors.front().get()) == 0);
}

TEST_CASE("an address that would be two parts is refused", "[auth]") {
  const TestCa ca;
  CHECK_FALSE(write_invitation("a,b:9000", invitation_of(ca).credentials));
}

TEST_CASE("what is cut off anywhere is no invitation", "[auth]") {
  const TestCa ca;
  const std::string text = written(invitation_of(ca));
  for (std::size_t size = 0; size + 3 < text.size(); size += 7) {
    INFO(size);
    CHECK_FALSE(read_invitation(text.substr(0, size)));
  }
}

TEST_CASE("what is no invitation is said", "[auth]") {
  const TestCa ca;
  const std::string text = written(invitation_of(ca));
  CHECK_THAT(why_not(""), Contains("it is not an invitation"));
  CHECK_THAT(why_not("farport2" + text.substr(8)), Contains("it is not an invitation"));
  CHECK_THAT(why_not("farport1,,,,"), Contains("incomplete"));
  CHECK_THAT(why_not(text + ",more"), Contains("incomplete"));
  CHECK_THAT(why_not(std::string(kLongestInvitation + 1, 'x')), Contains("too long"));
  CHECK_THAT(why_not(std::string(kLongestInvitation, ',')), Contains("it is not an invitation"));
}

TEST_CASE("an invitation with a key of another certificate is refused", "[auth]") {
  const TestCa ca;
  Invitation mixed = invitation_of(ca);
  static_cast<void>(ca.client("bob"));
  mixed.credentials.key = must(load_issued(ca.directory().path(), "bob")).key;
  CHECK_THAT(why_not(written(mixed)), Contains("was changed"));
}

}  // namespace
}  // namespace farport::auth
