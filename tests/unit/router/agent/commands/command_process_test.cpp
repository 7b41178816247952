#include "router/agent/commands/command_process.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <span>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "config/values.hpp"
#include "router/agent/stores/store.hpp"
#include "tests/unit/auth/fixtures.hpp"
#include "transport/child_process.hpp"

using namespace farport;
using router::command_arguments;
using router::command_value;
using router::CommandResult;
using router::RunningCommand;

namespace {

/// Runs a shell's text as a command.
struct Ran {
  Result<CommandResult> result = CommandResult{};
  transport::IoStatus written{};
};

Ran run(const std::string& text, const std::string& input, bool finish = true) {
  const auto process = router::CommandProcess::start(
      {{{"/bin/sh", "-c", text, "sh", "{file}"}, {"PATH=/usr/bin:/bin"}, [] { return Result<void>(); }}},
      [] {});
  REQUIRE(process);
  transport::Loop loop;
  Ran ran;
  const auto give = [&]() -> transport::Task<void> {
    auto command = process->begin(loop, 0, {{"file", "a file"}});
    REQUIRE(command);
    ran.written = co_await (*command)->input().write(std::as_bytes(std::span(input)));
    if (finish) std::ignore = co_await (*command)->input().finish();
    ran.result = co_await (*command)->result();
  };
  loop.run(give());
  return ran;
}

}  // namespace

TEST_CASE("a command gets its input, and tells what it has said", "[commands]") {
  const Ran ran = run("wc -c; echo \"$1\"; echo one >&2; echo two >&2", std::string(300'000, 'x'));
  REQUIRE(ran.result);
  CHECK(ran.result->exit_code == 0);
  CHECK(ran.result->read_all);
  CHECK(ran.result->output == "300000\na_file\n");
  CHECK(ran.result->last_words == "two");
  CHECK(ran.result->why_failed().empty());
}

TEST_CASE("a command that fails says why", "[commands]") {
  CHECK(run("cat >/dev/null; echo no >&2; exit 3", "x").result->why_failed() == "exit code 3: no");
  CHECK(run("kill -9 $$", "x").result->why_failed() == "signal 9 has killed it");
  CHECK(run("exit 0", "x").result->why_failed() == "it ended with exit code 0 before it had read everything");
  CHECK(
      run("head -c 10 >/dev/null", std::string(1'000'000, 'x')).result->why_failed().starts_with("it ended"));
}

TEST_CASE("what a command says is limited", "[commands]") {
  const Ran ran = run("cat >/dev/null; yes | head -c 1000000; yes no | head -c 999999 >&2", "x");
  REQUIRE(ran.result);
  CHECK(ran.result->output.size() == 4096);
  CHECK(ran.result->last_words == "no");
}

TEST_CASE("what a command leaves running does not hold its result up, and ends", "[commands]") {
  const std::string left_running =
      GENERATE("sleep 1000 & echo $!", "setsid sh -c 'echo $$; exec sleep 1000' & sleep 0.2");
  const Ran ran = run("cat >/dev/null; " + left_running, "x");
  REQUIRE(ran.result);
  const pid_t left = std::stoi(ran.result->output);
  for (int tries = 0; tries < 500 && ::kill(left, 0) == 0; ++tries) ::usleep(10'000);
  CHECK(::kill(left, 0) != 0);
}

TEST_CASE("a program that is not there is an error of the command", "[commands]") {
  const auto process =
      router::CommandProcess::start({{{"no-such-program"}, {}, [] { return Result<void>(); }},
                                     {{"true"}, {}, [] { return Result<void>(fail("become", "x", "no")); }}},
                                    [] {});
  REQUIRE(process);
  transport::Loop loop;
  std::vector<std::string> said;
  const auto ask = [&]() -> transport::Task<void> {
    for (const std::size_t number : {0, 1}) {
      auto command = process->begin(loop, number, {});
      REQUIRE(command);
      std::ignore = co_await (*command)->input().finish();
      const auto result = co_await (*command)->result();
      said.push_back(result ? result->why_failed() : result.error().message());
    }
    auto none = process->begin(loop, 2, {});
    REQUIRE(none);
    const auto result = co_await (*none)->result();
    said.push_back(result ? "" : result.error().message());
  };
  loop.run(ask());
  CHECK(said.at(0).find("no-such-program: No such file") != std::string::npos);
  CHECK(said.at(1).find("cannot become x: no") != std::string::npos);
  CHECK(said.at(2).find("was ended") != std::string::npos);
}

TEST_CASE("a value can't lead out of a directory, be an option or mean something to a shell", "[commands]") {
  CHECK(command_value("orders-1.json") == "orders-1.json");
  CHECK(command_value("2026-11-28T10:00:00Z") == "2026-11-28T10:00:00Z");
  CHECK(command_value("../../etc/passwd") == "_._.._etc_passwd");
  CHECK(command_value("-rf") == "_rf");
  CHECK(command_value("@/etc/passwd") == "__etc_passwd");
  CHECK(command_value("%2e%2e%2f") == "_2e_2e_2f");
  CHECK(command_value("").size() == 1);
  CHECK(command_value("a b;$(id)\n\"'") == "a_b___id____");
  CHECK(command_value("Grüße") == "Gr____e");
  CHECK(command_value(std::string(1000, 'x')).size() == 200);
}

TEST_CASE("arguments have the values of variables", "[commands]") {
  const router::CommandVariables variables{{"file", "f.dmp"}, {"pod", ""}};
  const auto arguments = command_arguments({"rclone", "b:{pod}/{file}", "{"}, variables);
  REQUIRE(arguments);
  CHECK(*arguments == std::vector<std::string>{"rclone", "b:/f.dmp", "{"});
  CHECK(!command_arguments({"rclone", "{files}"}, variables));
}

TEST_CASE("the settings know the variables that commands get", "[commands]") {
  std::vector<std::string> names;
  for (const auto& [name, value] : router::variables_of({}, "x")) names.push_back(name);
  CHECK(names == std::vector<std::string>(config::kStoreVariables.begin(), config::kStoreVariables.end()));
}

namespace {

/// A named pipe whose reading end another process holds, and whether a writer that comes later can write.
struct Held {
  auth::test::TemporaryDirectory place{};
  std::string path = place.path() + "/pipe";
  std::optional<Result<router::CommandProcess>> process = router::CommandProcess::start({}, [] {});

  Held() { REQUIRE(::mkfifo(path.c_str(), S_IRUSR | S_IWUSR) == 0); }
  [[nodiscard]] UniqueFd open(int how) const { return UniqueFd(::open(path.c_str(), how | O_CLOEXEC)); }
  [[nodiscard]] Result<router::HeldPipe> hold(transport::Loop& loop) const {
    return loop.run((*process)->hold(loop, open(O_RDONLY | O_NONBLOCK)));
  }
};

}  // namespace

TEST_CASE("a pipe is held until that is not wanted any more", "[commands]") {
  const Held held;
  transport::Loop loop;
  {
    const auto holder = held.hold(loop);
    REQUIRE(holder);
    // Without a reader this would fail (open(2), ENXIO).
    CHECK(held.open(O_WRONLY | O_NONBLOCK));
  }
  for (int tries = 0; tries < 500 && held.open(O_WRONLY | O_NONBLOCK); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(!held.open(O_WRONLY | O_NONBLOCK));
}

TEST_CASE("who writes to a pipe whose reader was killed is not kept waiting", "[commands]") {
  Held held;
  // As another process's, which is killed.
  const pid_t killed = ::fork();
  if (killed == 0) {
    transport::Loop loop;
    const auto holder = held.hold(loop);
    ::_exit(holder ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(killed, &status, 0) == killed);
  REQUIRE(status == 0);
  const UniqueFd writer = held.open(O_WRONLY);
  REQUIRE(writer);
  const auto ignored = std::signal(SIGPIPE, SIG_IGN);
  ssize_t written = 0;
  for (int tries = 0; tries < 500 && written >= 0; ++tries) {
    written = ::write(writer.get(), "x", 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(errno == EPIPE);
  std::signal(SIGPIPE, ignored);
}
