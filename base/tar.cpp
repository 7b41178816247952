#include "base/tar.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace farport {
namespace {

/// The fields of a header, by the offset of their first byte and their size.
struct Field {
  std::size_t at;
  std::size_t size;
};
constexpr Field kName{0, 100};
constexpr Field kMode{100, 8};
constexpr Field kOwner{108, 8};
constexpr Field kGroup{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kTime{136, 12};
constexpr Field kChecksum{148, 8};
constexpr Field kType{156, 1};
constexpr Field kMagic{257, 8};
constexpr std::string_view kUstar(
    "ustar\0"
    "00",
    8);
constexpr char kRegular = '0';
constexpr unsigned kReadable = 0644;
/// What has more is told by numbers of another kind.
constexpr std::uint64_t kMaxSize = (std::uint64_t{1} << 33) - 1;

using Header = std::array<char, kTarBlock>;

std::string_view text_of(const Header& header, Field field) {
  return {header.data() + field.at, field.size};
}

void put(Header& header, Field field, std::string_view text) {
  std::memcpy(header.data() + field.at, text.data(), std::min(text.size(), field.size));
}

void put_number(Header& header, Field field, std::uint64_t value) {
  put(header, field, fmt::format("{:0{}o}", value, field.size - 1));
}

std::optional<std::uint64_t> number_of(const Header& header, Field field) {
  const std::string_view text = text_of(header, field);
  std::uint64_t value = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '7'; ++digits)
    value = value * 8 + static_cast<std::uint64_t>(text[digits] - '0');
  const bool ends = digits == text.size() || text[digits] == '\0' || text[digits] == ' ';
  if (digits == 0 || !ends) return std::nullopt;
  return value;
}

/// The sum of a header's bytes, with spaces in place of the sum itself.
std::uint64_t checksum_of(Header header) {
  std::fill_n(header.begin() + kChecksum.at, kChecksum.size, ' ');
  return std::accumulate(header.begin(), header.end(), std::uint64_t{0},
                         [](std::uint64_t sum, char each) { return sum + static_cast<unsigned char>(each); });
}

bool is_zero(const Header& header) {
  return std::ranges::all_of(header, [](char each) { return each == '\0'; });
}

tl::unexpected<Error> broken(std::string_view why) {
  return fail("read", "the archive", why);
}

}  // namespace

bool is_tar_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxTarName && name.front() != '.' && name.front() != '-' &&
         std::ranges::all_of(name, [](char each) { return each > ' ' && each <= '~' && each != '/'; });
}

std::array<char, kTarBlock> tar_header(std::string_view name, std::uint64_t size) {
  Header header{};
  put(header, kName, name);
  put_number(header, kMode, kReadable);
  put_number(header, kOwner, 0);
  put_number(header, kGroup, 0);
  put_number(header, kSize, size);
  put_number(header, kTime, 0);
  put(header, kType, std::string_view(&kRegular, 1));
  put(header, kMagic, kUstar);
  put(header, kChecksum, fmt::format("{:06o}", checksum_of(header)));
  header[kChecksum.at + kChecksum.size - 1] = ' ';
  return header;
}

std::size_t tar_padding(std::uint64_t size) {
  return (kTarBlock - size % kTarBlock) % kTarBlock;
}

Result<void> TarReader::take_header() {
  if (is_zero(header_)) {
    ended_ = true;
    return {};
  }
  if (number_of(header_, kChecksum) != checksum_of(header_))
    return broken("it is no tar archive, or damaged");
  const std::string_view name = text_of(header_, kName).substr(0, text_of(header_, kName).find('\0'));
  const auto size = number_of(header_, kSize);
  const char type = header_[kType.at];
  if ((type != kRegular && type != '\0') || !is_tar_name(name))
    return broken("it has more than regular files with plain names");
  if (!size || *size > kMaxSize || *size > left_) return broken("what is in it is too large");
  left_ -= *size;
  content_ = *size;
  padding_ = tar_padding(*size);
  RETURN_IF_ERROR(files_.begin(std::string(name), *size));
  return content_ == 0 ? files_.end() : Result<void>();
}

Result<void> TarReader::take(std::span<const std::byte> bytes) {
  while (!bytes.empty() && !ended_) {
    std::size_t taken = 0;
    if (content_ > 0) {
      taken = std::min<std::uint64_t>(bytes.size(), content_);
      RETURN_IF_ERROR(files_.append(bytes.first(taken)));
      content_ -= taken;
      if (content_ == 0) RETURN_IF_ERROR(files_.end());
    } else if (padding_ > 0) {
      taken = std::min(bytes.size(), padding_);
      padding_ -= taken;
    } else {
      taken = std::min(bytes.size(), kTarBlock - header_bytes_);
      std::memcpy(header_.data() + header_bytes_, bytes.data(), taken);
      header_bytes_ = (header_bytes_ + taken) % kTarBlock;
      if (header_bytes_ == 0) RETURN_IF_ERROR(take_header());
    }
    bytes = bytes.subspan(taken);
  }
  return {};
}

Result<void> TarReader::finish() const {
  return ended_ ? Result<void>() : broken("it ends early");
}

}  // namespace farport
