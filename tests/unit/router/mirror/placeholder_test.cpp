#include "router/mirror/placeholder.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "transport/task_set.hpp"
#include "transport/timer.hpp"

using farport::Result;
using farport::router::Placeholder;
using farport::router::PlaceholderImage;
using farport::router::ProcessLook;
using farport::router::split_command_line;
using farport::transport::Loop;
using farport::transport::Task;

namespace {

using Started = Result<std::unique_ptr<Placeholder>>;

/// Argument lists, as /proc shows them: each with a zero after it.
std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + '\0';
  return all;
}

std::string proc_file(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A field of /proc/PID/stat, of a process whose name has no spaces.
std::string stat_field(pid_t pid, int number) {
  std::istringstream stat(proc_file(pid, "stat"));
  std::string field;
  for (int i = 0; i < number; ++i) stat >> field;
  return field;
}

/// Passes when it is so; a test that waits in vain is ended by its time limit.
Task<void> until(Loop& loop, std::function<bool()> so) {
  while (!so()) co_await farport::transport::sleep(loop, farport::transport::Milliseconds(1));
}

/// Proportional set size, in KiB.
int pss_kib(pid_t pid) {
  std::istringstream text(proc_file(pid, "smaps_rollup"));
  for (std::string word; text >> word;) {
    if (word == "Pss:") {
      int kib = -1;
      text >> kib;
      return kib;
    }
  }
  return -1;
}

bool process_exists(pid_t pid) {
  return ::kill(pid, 0) == 0 || errno != ESRCH;
}

/// Lets the loop go on until it has reaped the process, or says that it did not within some seconds.
bool is_reaped(Loop& loop, pid_t pid) {
  return loop.run([](Loop& on, pid_t process) -> Task<bool> {
    for (int i = 0; i < 5000 && process_exists(process); ++i) {
      co_await farport::transport::sleep(on, farport::transport::Milliseconds(1));
    }
    co_return !process_exists(process);
  }(loop, pid));
}

struct Fixture {
  Loop loop;
  PlaceholderImage image = PlaceholderImage::make().value();
  const std::vector<std::string> argv{"/app/orders", "--url", "http://[::]:80"};

  std::unique_ptr<Placeholder> start(std::function<void()> on_exit = [] {}) {
    Started started =
        loop.run(Placeholder::start(loop, image, ProcessLook{"orders", argv, "/tmp"}, std::move(on_exit)));
    if (!started) FAIL(started.error().message());
    return std::move(*started);
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a placeholder looks like the runtime that it stands for", "[placeholder]") {
  const std::unique_ptr<Placeholder> placeholder = start();
  const pid_t pid = placeholder->pid();

  CHECK(proc_file(pid, "cmdline") == joined(argv));
  CHECK(proc_file(pid, "comm") == "orders\n");
  CHECK(proc_file(pid, "environ") == joined({"TMPDIR=/tmp", "FARPORT_NAME=orders"}));
  CHECK(std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/cwd") == "/");
  CHECK(::getsid(pid) == pid);
}

TEST_CASE_METHOD(Fixture,
                 "a placeholder's program is called after the remote one, where files can be executed",
                 "[placeholder]") {
  char directory[] = "/tmp/farport-test-XXXXXX";
  REQUIRE(::mkdtemp(directory) != nullptr);
  {
    PlaceholderImage files = PlaceholderImage::make(directory).value();
    const auto start_named = [&](const std::string& name) {
      Started started = loop.run(Placeholder::start(loop, files, ProcessLook{name, argv, "/tmp"}, [] {}));
      if (!started) FAIL(started.error().message());
      return std::move(*started);
    };
    const auto program_of = [](const Placeholder& placeholder) {
      return std::filesystem::read_symlink("/proc/" + std::to_string(placeholder.pid()) + "/exe");
    };
    const auto first = start_named("orders");
    const auto second = start_named("orders");
    const auto hostile = start_named("../../etc/passwd\n\x1b[2J" + std::string(300, 'x'));
    CHECK(program_of(*first).filename() == "orders");
    CHECK(program_of(*second).filename() == "orders");
    CHECK(program_of(*first) != program_of(*second));
    CHECK(program_of(*hostile).string().starts_with(directory));
    CHECK(program_of(*hostile).filename().string().starts_with("_._.._etc_passwd__"));
    CHECK(program_of(*hostile).filename().string().size() == 64);
  }
  // Only the program itself is left, which goes with the directory.
  CHECK(std::distance(std::filesystem::directory_iterator(directory), {}) == 1);
  std::filesystem::remove_all(directory);
  const auto unnamed = loop.run(Placeholder::start(loop, image, ProcessLook{"orders", argv, "/tmp"}, [] {}));
  REQUIRE(unnamed.has_value());
}

TEST_CASE_METHOD(Fixture, "a placeholder's key is its start time", "[placeholder]") {
  const std::unique_ptr<Placeholder> placeholder = start();
  CHECK(std::to_string(placeholder->start_time()) == stat_field(placeholder->pid(), 22));
}

TEST_CASE_METHOD(Fixture, "a name with spaces and parentheses spoils nothing", "[placeholder]") {
  Started started =
      loop.run(Placeholder::start(loop, image, ProcessLook{"a) 1 2 (b 3 4 56", {""}, "/tmp"}, [] {}));
  REQUIRE(started.has_value());
  CHECK(proc_file((*started)->pid(), "comm") == "a) 1 2 (b 3 4 5\n");
  CHECK(proc_file((*started)->pid(), "cmdline") == joined({""}));
  const std::unique_ptr<Placeholder> other = start();
  CHECK((*started)->start_time() > 0);
  CHECK((*started)->start_time() <= other->start_time());
}

TEST_CASE_METHOD(Fixture, "a placeholder takes another look and stays the same process", "[placeholder]") {
  char directory[] = "/tmp/farport-test-XXXXXX";
  REQUIRE(::mkdtemp(directory) != nullptr);
  {
    PlaceholderImage files = PlaceholderImage::make(directory).value();
    for (PlaceholderImage* from : {&image, &files}) {
      Started started = loop.run(Placeholder::start(loop, *from, ProcessLook{"dotnet", {"dotnet"}, "/tmp"},
                                                    [] { FAIL("it has ended"); }));
      REQUIRE(started.has_value());
      const pid_t pid = (*started)->pid();
      const std::string name = "Orders.Api";
      // The longest command line that is taken from an agent, as one word and as many.
      const std::string longest(32 * 1024, 'x');
      const std::string most(32 * 1024, ' ');
      for (const std::string& line : {longest, most, std::string("dotnet Orders.Api.dll")}) {
        const std::vector<std::string> arguments = split_command_line(line);
        (*started)->change({name, {"overtaken"}, "/tmp"});
        (*started)->change({name, {"overtaken", "too"}, "/tmp"});
        (*started)->change({name, arguments, "/tmp"});
        loop.run(until(loop, [&] { return proc_file(pid, "cmdline") == joined(arguments); }));
      }
      loop.run(until(loop, [&] { return proc_file(pid, "comm") == "Orders.Api\n"; }));
      CHECK(proc_file(pid, "environ") == joined({"TMPDIR=/tmp", "FARPORT_NAME=Orders.Api"}));
      CHECK(stat_field(pid, 22) == std::to_string((*started)->start_time()));
      if (from == &image) continue;
      const auto program = std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe");
      CHECK(program.filename() == name);
      CHECK(std::filesystem::exists(program));
    }
  }
  CHECK(std::distance(std::filesystem::directory_iterator(directory), {}) == 1);
  std::filesystem::remove_all(directory);
}

TEST_CASE_METHOD(Fixture, "a zero in an argument ends it, at the start and later", "[placeholder]") {
  const std::string hostile = std::string("dotnet") + '\0' + "TMPDIR=/x" + '\0' + "FARPORT_NAME=y";
  Started started =
      loop.run(Placeholder::start(loop, image, ProcessLook{"orders", {hostile}, "/tmp"}, [] {}));
  REQUIRE(started.has_value());
  const pid_t pid = (*started)->pid();
  CHECK(proc_file(pid, "cmdline") == joined({"dotnet"}));
  (*started)->change({"orders", {hostile, "b"}, "/tmp"});
  loop.run(until(loop, [&] { return proc_file(pid, "cmdline") == joined({"dotnet", "b"}); }));
  CHECK(proc_file(pid, "environ") == joined({"TMPDIR=/tmp", "FARPORT_NAME=orders"}));
}

TEST_CASE_METHOD(Fixture, "a stopped placeholder takes its last look once it goes on", "[placeholder]") {
  const std::unique_ptr<Placeholder> placeholder = start([] { FAIL("it has ended"); });
  const pid_t pid = placeholder->pid();
  ::kill(pid, SIGSTOP);
  for (int i = 0; i < 1000; ++i) placeholder->change({"orders", {std::to_string(i)}, "/tmp"});
  CHECK(proc_file(pid, "cmdline") == joined(argv));
  ::kill(pid, SIGCONT);
  loop.run(until(loop, [&] { return proc_file(pid, "cmdline") == joined({"999"}); }));
  ::kill(pid, SIGINT);
  CHECK(process_exists(pid));
}

TEST_CASE_METHOD(Fixture, "a placeholder costs less than 300 KiB", "[placeholder]") {
  const std::unique_ptr<Placeholder> placeholder = start();
  const int pss = pss_kib(placeholder->pid());
  CHECK(pss >= 0);
  CHECK(pss < 300);
}

TEST_CASE_METHOD(Fixture, "a placeholder leaves the terminal's signals to the mirror", "[placeholder]") {
  const std::unique_ptr<Placeholder> placeholder = start([] { FAIL("it has ended"); });
  ::kill(placeholder->pid(), SIGINT);
  ::kill(placeholder->pid(), SIGHUP);
  loop.run([](Loop& on) -> Task<void> {
    co_await farport::transport::sleep(on, farport::transport::Milliseconds(50));
  }(loop));
  CHECK(process_exists(placeholder->pid()));
}

TEST_CASE_METHOD(Fixture, "destroying a placeholder leaves no process and no zombie", "[placeholder]") {
  bool told = false;
  std::unique_ptr<Placeholder> placeholder = start([&] { told = true; });
  const pid_t pid = placeholder->pid();
  REQUIRE(process_exists(pid));
  placeholder.reset();
  CHECK(is_reaped(loop, pid));
  CHECK_FALSE(told);
}

TEST_CASE("a loop that ends has reaped the placeholders that were left to it", "[placeholder]") {
  pid_t pid = 0;
  {
    Fixture fixture;
    pid = fixture.start()->pid();
  }
  CHECK_FALSE(process_exists(pid));
}

TEST_CASE_METHOD(Fixture, "a placeholder that is killed says so, once, and may be destroyed then",
                 "[placeholder]") {
  farport::transport::Event ended(loop);
  int told = 0;
  std::unique_ptr<Placeholder> first;
  std::unique_ptr<Placeholder> second;
  const auto destroy_both = [&] {
    ++told;
    first.reset();
    second.reset();
    ended.set();
  };
  first = start(destroy_both);
  second = start(destroy_both);
  const std::vector<pid_t> pids{first->pid(), second->pid()};
  for (const pid_t pid : pids) ::kill(pid, SIGKILL);
  loop.run([](farport::transport::Event& event) -> Task<void> { co_await event.wait(); }(ended));
  CHECK(told == 1);
  for (const pid_t pid : pids) CHECK(is_reaped(loop, pid));
}

TEST_CASE_METHOD(Fixture, "cancelling the start of a placeholder ends it", "[placeholder]") {
  farport::transport::TaskSet tasks(loop);
  tasks.spawn([](Fixture& fixture) -> Task<void> {
    ProcessLook look{"orders", fixture.argv, "/tmp"};
    const auto started = co_await Placeholder::start(fixture.loop, fixture.image, std::move(look), [] {});
    if (!started) FAIL("it was not cancelled");
  }(*this));
  tasks.clear();
  // No child is left, not even one that waits to be reaped.
  const bool none = loop.run([](Loop& on) -> Task<bool> {
    siginfo_t child{};
    for (int i = 0; i < 5000; ++i) {
      if (::waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0) co_return errno == ECHILD;
      co_await farport::transport::sleep(on, farport::transport::Milliseconds(1));
    }
    co_return false;
  }(loop));
  CHECK(none);
}

TEST_CASE_METHOD(Fixture, "a placeholder dies with the mirror", "[placeholder]") {
  int pids[2] = {-1, -1};
  REQUIRE(::pipe(pids) == 0);
  const pid_t mirror = ::fork();
  if (mirror == 0) {
    Loop own_loop;
    const auto started =
        own_loop.run(Placeholder::start(own_loop, image, ProcessLook{"orders", argv, "/tmp"}, [] {}));
    const pid_t pid = started ? (*started)->pid() : -1;
    if (::write(pids[1], &pid, sizeof pid) != sizeof pid) ::_exit(1);
    ::raise(SIGKILL);
  }
  pid_t pid = -1;
  REQUIRE(::read(pids[0], &pid, sizeof pid) == sizeof pid);
  REQUIRE(pid > 0);
  REQUIRE(::waitpid(mirror, nullptr, 0) == mirror);
  // Reaped by whoever adopts it, soon; until then a zombie, which has no command line any more.
  for (int i = 0; i < 100 && !proc_file(pid, "cmdline").empty(); ++i) ::usleep(10'000);
  CHECK(proc_file(pid, "cmdline").empty());
  ::close(pids[0]);
  ::close(pids[1]);
}

TEST_CASE_METHOD(Fixture, "a command line that is too long is an error", "[placeholder][not-in-valgrind]") {
  constexpr std::size_t kMoreThanAnArgument = 1 << 20;
  const std::vector<std::string> too_long{std::string(kMoreThanAnArgument, 'x')};
  const Started started =
      loop.run(Placeholder::start(loop, image, ProcessLook{"orders", too_long, "/tmp"}, [] {}));
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().cause == E2BIG);
}

TEST_CASE("a command line is split so that joining it gives the same text", "[placeholder]") {
  for (const std::string text :
       {"dotnet app.dll", "dotnet  'a b'   c", " leading", "trailing ", "", " ", "one"}) {
    const std::vector<std::string> arguments = split_command_line(text);
    REQUIRE_FALSE(arguments.empty());
    const std::string again =
        std::accumulate(std::next(arguments.begin()), arguments.end(), arguments.front(),
                        [](const std::string& left, const std::string& right) { return left + ' ' + right; });
    CHECK(again == text);
  }
}
