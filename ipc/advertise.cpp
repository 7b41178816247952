#include "ipc/advertise.hpp"

#include <algorithm>

namespace farport::ipc {
namespace {

/// "ADVR_V1" and a zero.
constexpr std::array<std::byte, 8> kAdvertiseMagic = [] {
  constexpr char kText[] = "ADVR_V1";
  std::array<std::byte, sizeof kText> magic{};
  std::ranges::transform(kText, magic.begin(), [](char c) { return static_cast<std::byte>(c); });
  return magic;
}();

}  // namespace

Result<Advertise> decode_advertise(BytesView bytes) {
  if (bytes.size() < kAdvertiseSize) {
    return fail("decode", "an advertise",
                "it has 34 bytes, but there are only " + std::to_string(bytes.size()));
  }
  if (!std::ranges::equal(bytes.first(kAdvertiseMagic.size()), kAdvertiseMagic)) {
    return fail("decode", "an advertise", "it does not begin with ADVR_V1",
                "check that only .NET runtimes dial this port");
  }
  Reader in(bytes.subspan(kAdvertiseMagic.size()), "an advertise");
  Advertise advertise;
  advertise.cookie = in.guid();
  advertise.pid = in.u64();
  return in.result(advertise);
}

std::array<std::byte, kAdvertiseSize> encode_advertise(const Advertise& advertise) {
  Writer out;
  out.bytes(kAdvertiseMagic);
  out.guid(advertise.cookie);
  out.u64(advertise.pid);
  out.u16(0);
  std::array<std::byte, kAdvertiseSize> bytes{};
  std::ranges::copy(out.take(), bytes.begin());
  return bytes;
}

}  // namespace farport::ipc
