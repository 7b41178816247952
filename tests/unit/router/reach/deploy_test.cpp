#include "router/reach/deploy.hpp"

#include <catch2/catch.hpp>

#include "router/reach/command.hpp"
#include "router/reach/container.hpp"

namespace farport::router {
namespace {

TEST_CASE("the script passes through any shell as one quoted word") {
  const StaticProgram program({}, std::string(64, 'a'));
  for (const bool use_installed : {false, true}) {
    Deploy deploy;
    deploy.linger = std::chrono::milliseconds(1500);
    const std::string script = deploy_script(program, deploy, use_installed);
    CHECK(script.find(" l=1500ms;") != std::string::npos);
    CHECK(script.find_first_of("'\\!\n") == std::string::npos);
    CHECK(script.find(std::string(64, 'a')) != std::string::npos);
    CHECK((script.find("exec farport stdio") != std::string::npos) == use_installed);
  }
}

TEST_CASE("an archive of a program is read again as what it was") {
  const std::string content(1000, 'x');
  const auto tar = tar_of_program("usr/bin/farport", std::as_bytes(std::span(content)));
  CHECK(tar.size() % 512 == 0);
  const std::string_view text(reinterpret_cast<const char*>(tar.data()), tar.size());
  CHECK(first_file(text) == content);
  CHECK_FALSE(first_file(text.substr(0, 600)).has_value());
  CHECK_FALSE(first_file("").has_value());
  CHECK_FALSE(first_file(std::string(1024, 'y')).has_value());
}

TEST_CASE("a command's output, or why there is none") {
  transport::Loop loop;
  const auto run = [&loop](const char* script, CommandInput input = nullptr) {
    return loop.run(capture(loop, {"sh", "-c", script}, std::move(input)));
  };
  CHECK(run("echo hello; echo there >&2") == "hello\n");
  const auto input = std::make_shared<const std::vector<std::byte>>(3'000'000, std::byte{'z'});
  CHECK(run("wc -c", input) == "3000000\n");
  // One that does not read what it is given.
  CHECK(run("exit 0", input).has_value());
  CHECK_THAT(run("echo wrong >&2; exit 4").error().message(), Catch::Contains("ended with code 4: wrong"));
  CHECK_THAT(run("yes").error().message(), Catch::Contains("exceeds the limit"));
}

}  // namespace
}  // namespace farport::router
