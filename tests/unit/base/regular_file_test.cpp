// What is read from paths that others may have had a hand in.
#include <cerrno>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "auth/check.hpp"
#include "auth/credentials.hpp"
#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "config/file.hpp"
#include "tests/unit/auth/fixtures.hpp"

using namespace farport;
using auth::test::TemporaryDirectory;

TEST_CASE("a file is read up to a limit", "[base]") {
  const TemporaryDirectory directory;
  CHECK(read_regular_file("it", directory.file("empty", ""), 4).value().empty());
  CHECK(read_regular_file("it", directory.file("some", "abc"), 4).value() == "abc");
  CHECK(read_regular_file("it", directory.file("full", "abcd"), 4).value() == "abcd");
  const auto large = read_regular_file("it", directory.file("large", "abcde"), 4);
  REQUIRE_FALSE(large);
  CHECK(large.error().cause == EFBIG);
  CHECK_THAT(large.error().message(), Catch::Contains("it is larger than 4 bytes"));
}

TEST_CASE("nothing but a regular file is read", "[base]") {
  const TemporaryDirectory directory;
  const std::string pipe = directory.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, directory.path(), std::string("/dev/zero")}) {
    INFO(path);
    CHECK_FALSE(read_regular_file("it", path, 4));
  }
  CHECK_THAT(read_regular_file("it", pipe, 4).error().message(), Catch::Contains("it is a pipe, not a file"));
}

TEST_CASE("a pipe in place of any file of ours holds nothing up", "[auth]") {
  const auth::test::TestCa ca;
  const TemporaryDirectory directory;
  const std::string pipe = directory.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auth::TlsFiles good = ca.server("orders");
  for (std::string auth::TlsFiles::*file :
       {&auth::TlsFiles::cert, &auth::TlsFiles::key, &auth::TlsFiles::ca, &auth::TlsFiles::crl}) {
    auth::TlsFiles files = good;
    files.*file = pipe;
    const auto context = auth::make_server_context(files);
    REQUIRE_FALSE(context);
    CHECK_THAT(context.error().message(), Catch::Contains(pipe + ": it is a pipe, not a file"));
    CHECK_FALSE(auth::check_tls_files(files, auth::Side::server).empty());
  }
  const auto configuration = config::read_file(pipe);
  REQUIRE_FALSE(configuration);
  CHECK_THAT(configuration.error().front(), Catch::Contains("it is a pipe, not a file"));
}

TEST_CASE("a process's pid in its own namespace", "[base]") {
  CHECK(pid_in_own_namespace(::getpid()) == static_cast<std::uint64_t>(::getpid()));
  CHECK(pid_in_own_namespace(0) == 0);
}
