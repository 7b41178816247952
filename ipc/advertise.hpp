// The advertise message, which a runtime sends when it has dialled a connect port.
#pragma once

#include <array>
#include <cstdint>

#include "ipc/wire.hpp"

namespace farport::ipc {

/// The magic ADVR_V1, the cookie, the pid and two unused bytes.
inline constexpr std::size_t kAdvertiseSize = 34;

struct Advertise {
  Guid cookie;
  std::uint64_t pid = 0;  ///< In the runtime's own pid namespace.
};

/// Reads an advertise from the first kAdvertiseSize bytes. Fails where there are fewer, or another magic.
[[nodiscard]] Result<Advertise> decode_advertise(BytesView bytes);
[[nodiscard]] std::array<std::byte, kAdvertiseSize> encode_advertise(const Advertise& advertise);

}  // namespace farport::ipc
