#include "router/reach/tar.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace farport::router {
namespace {

// The header's fields: POSIX.1-2017, pax, "ustar Interchange Format".
constexpr std::size_t kBlock = 512;
constexpr std::size_t kMode = 100;
constexpr std::size_t kSize = 124;
constexpr std::size_t kSizeDigits = 11;
constexpr std::size_t kChecksum = 148;
constexpr std::size_t kType = 156;
constexpr std::size_t kMagic = 257;
constexpr char kPlainFile = '0';

std::size_t whole_blocks(std::size_t size) {
  return (size + kBlock - 1) / kBlock * kBlock;
}

std::string header_of(std::string_view path, std::size_t size) {
  std::string header(kBlock, '\0');
  const auto put = [&header](std::size_t at, std::string_view text) { text.copy(&header[at], text.size()); };
  put(0, path);
  put(kMode, "0000755");
  put(kMode + 8, "0000000");
  put(kMode + 16, "0000000");
  put(kSize, fmt::format("{:011o}", size));
  put(kSize + 12, "00000000000");
  put(kChecksum, "        ");
  header[kType] = kPlainFile;
  put(kMagic, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(kChecksum, fmt::format("{:06o}", sum) + '\0');
  return header;
}

std::optional<std::size_t> octal(std::string_view digits) {
  std::size_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<std::size_t>(c - '0');
  }
  return value;
}

}  // namespace

std::vector<std::byte> tar_of_program(std::string_view path, std::span<const std::byte> content) {
  const std::string header = header_of(path, content.size());
  // It ends with two blocks of zeros.
  std::vector<std::byte> tar(kBlock + whole_blocks(content.size()) + 2 * kBlock);
  const auto bytes = std::as_bytes(std::span(header));
  std::copy(bytes.begin(), bytes.end(), tar.begin());
  std::copy(content.begin(), content.end(), tar.begin() + kBlock);
  return tar;
}

std::optional<std::string> first_file(std::string_view tar) {
  while (tar.size() >= kBlock) {
    const auto size = octal(tar.substr(kSize, kSizeDigits));
    if (!size || *size > tar.size() - kBlock) return std::nullopt;
    const char type = tar[kType];
    if (type == kPlainFile || type == '\0') return std::string(tar.substr(kBlock, *size));
    tar.remove_prefix(std::min(tar.size(), kBlock + whole_blocks(*size)));
  }
  return std::nullopt;
}

}  // namespace farport::router
