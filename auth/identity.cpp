#include "auth/identity.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <arpa/inet.h>
#include <openssl/err.h>

#include "auth/openssl.hpp"
#include "base/text.hpp"

namespace farport::auth {
namespace {

std::string_view bytes_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

/// Whether valid UTF-8 has no C0 or C1 control character. NUL is one: "alice\0.evil" is not "alice".
bool without_controls(std::string_view utf8) {
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    if (byte < 0x20 || byte == 0x7f) return false;
    if (byte == 0xc2 && i + 1 < utf8.size() && static_cast<unsigned char>(utf8[i + 1]) < 0xa0) return false;
  }
  return true;
}

/// A DirectoryString of a subject, as UTF-8.
std::optional<std::string> subject_text(const ASN1_STRING* value) {
  unsigned char* converted = nullptr;
  const int size = ASN1_STRING_to_UTF8(&converted, value);  // Fails on invalid encodings.
  if (size < 0) {
    ERR_clear_error();
    return std::nullopt;
  }
  std::string text(reinterpret_cast<const char*>(converted), static_cast<std::size_t>(size));
  OPENSSL_free(converted);
  if (text.empty() || !without_controls(text)) return std::nullopt;
  return text;
}

/// An IA5String of an alternative name; empty unless it is printable ASCII without spaces.
std::optional<std::string> ia5_text(const ASN1_STRING* value) {
  const std::string_view text = bytes_of(value);
  const bool clean = std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (text.empty() || !clean) return std::nullopt;
  return std::string(text);
}

std::optional<std::string> ip_text(const ASN1_STRING* value) {
  const std::string_view address = bytes_of(value);
  if (address.size() != sizeof(in_addr) && address.size() != sizeof(in6_addr)) return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = address.size() == sizeof(in_addr) ? AF_INET : AF_INET6;
  return std::string(inet_ntop(family, address.data(), text.data(), text.size()));
}

void read_subject(const X509* certificate, Identity& identity) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  int common_names = 0;
  for (int i = 0; i < X509_NAME_entry_count(subject); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(subject, i);
    const int kind = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (kind != NID_commonName && kind != NID_organizationalUnitName) continue;
    if (kind == NID_commonName) ++common_names;
    auto text = subject_text(X509_NAME_ENTRY_get_data(entry));
    if (!text) {
      ++identity.rejected_names;
    } else if (kind == NID_commonName) {
      identity.common_name = std::move(*text);
    } else {
      identity.organizational_units.push_back(std::move(*text));
    }
  }
  if (common_names > 1) {
    identity.common_name.clear();
    ++identity.rejected_names;
  }
}

void read_alternative_names(const X509* certificate, Identity& identity) {
  const GeneralNamesPtr names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (!names) return;
  const auto keep = [&](std::optional<std::string> text, std::vector<std::string>& list) {
    if (text) {
      list.push_back(std::move(*text));
    } else {
      ++identity.rejected_names;
    }
  };
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int kind = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &kind);
    if (kind == GEN_DNS) keep(ia5_text(static_cast<const ASN1_STRING*>(value)), identity.dns);
    if (kind == GEN_URI) keep(ia5_text(static_cast<const ASN1_STRING*>(value)), identity.uris);
    if (kind == GEN_IPADD) keep(ip_text(static_cast<const ASN1_STRING*>(value)), identity.ips);
  }
}

std::string serial_of(const X509* certificate) {
  const BignumPtr number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  char* hex = number ? BN_bn2hex(number.get()) : nullptr;
  if (hex == nullptr) return {};
  std::string text = hex;
  OPENSSL_free(hex);
  std::transform(text.begin(), text.end(), text.begin(), lower_case);
  return text;
}

std::string pin_of(const X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  if (size < 0) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int digest_size = 0;
  const int done =
      EVP_Digest(der, static_cast<std::size_t>(size), digest.data(), &digest_size, EVP_sha256(), nullptr);
  OPENSSL_free(der);
  if (done != 1) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE * 2> base64{};
  const int length = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(digest_size));
  return {reinterpret_cast<const char*>(base64.data()), static_cast<std::size_t>(length)};
}

}  // namespace

Identity identity_of(const X509* certificate) {
  Identity identity;
  read_subject(certificate, identity);
  read_alternative_names(certificate, identity);
  identity.serial = serial_of(certificate);
  identity.spki_pin = pin_of(certificate);
  return identity;
}

Identity identity_of(uid_t user) {
  Identity identity;
  identity.local = user;
  return identity;
}

std::string describe(const Identity& identity) {
  if (identity.local) return "local:" + std::to_string(*identity.local);
  constexpr std::size_t kMaxSubjectNames = 4;
  constexpr std::size_t kLongestName = 128;
  std::string text;
  std::size_t count = 0;
  const auto add = [&](std::string_view prefix, std::string_view name) {
    if (++count > kMaxSubjectNames) return;
    const std::string_view shown = shortened(name, kLongestName);
    text.append(count == 1 ? "" : ", ").append(prefix).append(shown);
    if (shown.size() < name.size()) text += "…";
  };
  if (!identity.common_name.empty()) add("CN=", identity.common_name);
  for (const auto& uri : identity.uris) add("", uri);
  for (const auto& dns : identity.dns) {
    if (dns != identity.common_name) add("", dns);
  }
  if (count == 0) return "serial " + identity.serial;
  if (count > kMaxSubjectNames) text += " and " + std::to_string(count - kMaxSubjectNames) + " more";
  return text;
}

namespace {

bool set(Identity& identity, std::string_view kind, std::string value) {
  if (kind == "CN") {
    identity.common_name = std::move(value);
  } else if (kind == "OU") {
    identity.organizational_units.push_back(std::move(value));
  } else if (kind == "DNS") {
    identity.dns.push_back(std::move(value));
  } else if (kind == "URI") {
    identity.uris.push_back(std::move(value));
  } else if (kind == "IP") {
    identity.ips.push_back(std::move(value));
  } else if (kind == "PIN") {
    identity.spki_pin = std::move(value);
  } else if (kind == "LOCAL") {
    identity.local = user_number_in(value);
    return identity.local.has_value();
  } else {
    return false;
  }
  return true;
}

}  // namespace

Result<Identity> parse_identity(std::string_view text) {
  Identity identity;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = take_until(rest, ',');
    std::string_view value = part;
    const std::string_view kind = take_until(value, '=');
    if (value.empty() || !set(identity, kind, std::string(value))) {
      return fail(
          "use the identity", text,
          "\"" + std::string(part) + "\" is no CN, OU, DNS, URI, IP or PIN, and no LOCAL with a number",
          "write for example CN=alice or CN=alice,OU=oncall");
    }
  }
  if (text.empty()) return fail("use the identity", text, "it is empty", "write for example CN=alice");
  return identity;
}

}  // namespace farport::auth
