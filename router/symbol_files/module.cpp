#include "router/symbol_files/module.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/directory.hpp"
#include "base/text.hpp"

namespace farport::router {
namespace {

/// The longest file name in Linux.
constexpr std::size_t kLongestName = 255;
/// The number of digits of a build id, which has 8 to 64 bytes.
constexpr std::size_t kLeastDigits = 16;
constexpr std::size_t kMostDigits = 128;
/// The least number of digits of a build id in a key.
constexpr std::size_t kKeyDigits = 40;

bool is_build_id(std::string_view text) {
  return text.size() >= kLeastDigits && text.size() <= kMostDigits && text.size() % 2 == 0 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_file_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= ' '; });
}

/// A module's name and build id as keys have them: in lower case, and a short build id is padded with zeros.
struct KeyParts {
  explicit KeyParts(const Module& module) : name(module.name), build_id(module.build_id) {
    std::transform(name.begin(), name.end(), name.begin(), lower_case);
    if (build_id.size() < kKeyDigits) build_id.resize(kKeyDigits, '0');
  }

  std::string name;
  std::string build_id;
};

std::string symbols_key(const KeyParts& parts) {
  return fmt::format("_.debug/elf-buildid-sym-{}/_.debug", parts.build_id);
}

std::string file_key(const std::string& name, const KeyParts& parts) {
  return fmt::format("{0}/elf-buildid-{1}/{0}", name, parts.build_id);
}

/// Encodes all but unreserved characters (RFC 3986 section 2.1).
std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string encoded;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

}  // namespace

std::string module_name(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return std::string(file_of(path));
}

std::optional<Module> module_at(const SampledMapping& mapping) {
  Module module{module_name(mapping.path), mapping.build_id};
  if (!is_build_id(module.build_id) || !is_file_name(module.name)) return std::nullopt;
  return module;
}

std::vector<std::string> places_in(const std::string& directory, const Module& module) {
  const KeyParts parts(module);
  const std::string by_id =
      fmt::format(".build-id/{}/{}", module.build_id.substr(0, 2), module.build_id.substr(2));
  std::vector<std::string> places{
      by_id + ".debug", symbols_key(parts),         module.name + ".debug", module.name + ".dbg", by_id,
      module.name,      file_key(parts.name, parts)};
  for (std::string& place : places) place = directory + '/' + place;
  return places;
}

std::vector<std::string> server_paths(const Module& module) {
  const KeyParts parts(module);
  return {symbols_key(parts), file_key(percent_encoded(parts.name), parts),
          fmt::format("buildid/{}/debuginfo", module.build_id)};
}

}  // namespace farport::router
