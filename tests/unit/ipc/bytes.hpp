// What tests of the diagnostic IPC protocol share: bytes by hand, and truncation at every byte.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include "ipc/wire.hpp"

namespace farport::test {

/// Bytes from hexadecimal digits; spaces and line ends are skipped.
inline ipc::Bytes hex(std::string_view digits) {
  ipc::Bytes bytes;
  std::string pair;
  for (const char c : digits) {
    if (c == ' ' || c == '\n') continue;
    pair += c;
    if (pair.size() == 2) {
      bytes.push_back(static_cast<std::byte>(std::stoi(pair, nullptr, 16)));
      pair.clear();
    }
  }
  return bytes;
}

/// `decode` accepts the whole payload, but none of its beginnings; one with more behind it only where a later
/// version may have added that, as to an answer.
template <typename Decode>
void check_truncated_at_every_byte(const ipc::Bytes& payload, const Decode& decode, bool takes_more = true) {
  CHECK(decode(payload).has_value());
  ipc::Bytes longer = payload;
  longer.push_back(std::byte{0});
  CHECK(decode(longer).has_value() == takes_more);
  for (std::size_t size = 0; size < payload.size(); ++size) {
    INFO("of " << payload.size() << " bytes only " << size);
    // A copy of just this size, so that the sanitizer sees a byte too many being read.
    const ipc::Bytes part(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(size));
    const auto decoded = decode(part);
    REQUIRE_FALSE(decoded.has_value());
    REQUIRE_FALSE(decoded.error().why.empty());
  }
}

}  // namespace farport::test
