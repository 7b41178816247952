// Fuzzes the advertise, the first thing that a runtime says to those whom it dials.
#include <span>

#include "ipc/message.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport::ipc;
using farport::Guid;
using farport::fuzz::check_round_trip;
using farport::fuzz::require;

namespace {

void check_cookie(const Guid& cookie) {
  require(Guid::parse(cookie.to_string()) == cookie, "a cookie can be read from its text");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const BytesView bytes = std::as_bytes(std::span(data, size));
  check_round_trip(bytes, decode_advertise, encode_advertise);
  if (const auto advertise = decode_advertise(bytes)) check_cookie(advertise->cookie);
  return 0;
}
