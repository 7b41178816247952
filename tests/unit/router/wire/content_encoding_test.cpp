#include <catch2/catch.hpp>

#include "router/wire/session_options.hpp"

using namespace farport::router;

TEST_CASE("zstd is found among the encodings that are accepted") {
  for (const auto* accepted :
       {"zstd", "gzip, zstd", "gzip,zstd;q=0.5", " ZStd ; q=1", "br;q=0, zstd", "zstd;q=0.001"}) {
    CAPTURE(accepted);
    CHECK(accepts_zstd(accepted));
  }
}

TEST_CASE("zstd is not sent to those who don't name it or refuse it") {
  for (const auto* accepted :
       {"", "gzip", "xzstd", "zstd2", "zstd;q=0", "zstd; q=0.000", "ZSTD;Q=0", "gzip;x=zstd", "*", ",;,"}) {
    CAPTURE(accepted);
    CHECK_FALSE(accepts_zstd(accepted));
  }
}
