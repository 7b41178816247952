#include "router/agent/recorder/recorded_samples.hpp"

#include <random>

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/unique_fd.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

using namespace farport;
using namespace farport::router;
using transport::Task;

namespace {

/// A sampling whose other end the test has.
struct Played {
  explicit Played(transport::Loop& loop) {
    auto samples = make_pipe(O_CLOEXEC | O_NONBLOCK);
    auto control = make_pipe(O_CLOEXEC | O_NONBLOCK);
    writing = std::move(samples->writing);
    control_end = std::move(control->reading);
    sampling = std::make_unique<SamplerWork>(
        loop, SamplerEnds{std::move(samples->reading), std::move(control->writing), Lifeline({}, {})},
        "profile");
  }
  void write(const std::string& bytes) const {
    REQUIRE(::write(writing.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  /// Whether it was told to end.
  [[nodiscard]] bool told_to_end() const {
    char byte = 0;
    return ::read(control_end.get(), &byte, 1) == 0;
  }
  UniqueFd writing;
  UniqueFd control_end;
  std::unique_ptr<SamplerWork> sampling;
};

Result<void> record(transport::Loop& loop, RecordedSamples& samples, const std::string& bytes) {
  Played played(loop);
  played.write(bytes);
  played.writing.reset();
  return loop.run(samples.record(std::move(played.sampling)));
}

/// What compression does not make smaller.
std::string noise(std::size_t size) {
  std::minstd_rand random;
  std::string made(size, '\0');
  for (char& each : made) each = static_cast<char>(random());
  return made;
}

std::vector<std::size_t> sizes(SampleFile file) {
  std::vector<std::size_t> sizes;
  for (auto piece = file.next(); !piece.empty(); piece = file.next()) sizes.push_back(piece.size());
  return sizes;
}

}  // namespace

TEST_CASE("samplings are kept each behind its size, the newest ones", "[recorder]") {
  transport::Loop loop;
  std::size_t limit = 1'000'000;
  RecordedSamples samples(loop, [&limit] { return limit; });
  REQUIRE(record(loop, samples, std::string(5000, 'a')));
  REQUIRE(record(loop, samples, noise(3000)));
  CHECK(sizes(samples.file({})) == std::vector<std::size_t>{5004, 3004});
  CHECK(samples.file({}).next()[1] == std::byte{5000 >> 8});
  CHECK(sizes(samples.file(RecordedSamples::Clock::now())).empty());
  CHECK(samples.size() < 3500);
  limit = 10'000;
  REQUIRE(record(loop, samples, noise(7000)));
  CHECK(sizes(samples.file({})) == std::vector<std::size_t>{3004, 7004});
  CHECK(samples.file({}).held() == samples.size());
  samples.trim(7000);
  CHECK(sizes(samples.file({})) == std::vector<std::size_t>{7004});
  samples.drop_before(RecordedSamples::Clock::now());
  CHECK(samples.size() == 0);
}

TEST_CASE("a sampling that does not fit the limit is an error, and the others stay", "[recorder]") {
  transport::Loop loop;
  std::size_t limit = 100;
  RecordedSamples samples(loop, [&limit] { return limit; });
  REQUIRE(record(loop, samples, std::string(300, 'a')));
  CHECK(!record(loop, samples, std::string(5000, 'b')));
  CHECK(!record(loop, samples, noise(300)));
  CHECK(sizes(samples.file({})) == std::vector<std::size_t>{304});
}

TEST_CASE("a sampling that is asked for is ended, and waited for", "[recorder]") {
  transport::Loop loop;
  RecordedSamples samples(loop, [] { return 1'000'000; });
  Played played(loop);
  transport::TaskSet tasks(loop);
  tasks.spawn([](RecordedSamples& to, Played& from) -> Task<void> {
    REQUIRE(co_await to.record(std::move(from.sampling)));
  }(samples, played));
  CHECK(samples.is_under_way());
  CHECK(!played.told_to_end());
  played.write("some");
  tasks.spawn([](transport::Loop& of_loop, RecordedSamples& of, Played& from) -> Task<void> {
    // One that has just begun goes on.
    co_await of.end_run();
    CHECK(!from.told_to_end());
    co_await transport::sleep(of_loop, RecordedSamples::kShortestRun + transport::Milliseconds(100));
    from.write(" more");
    from.writing.reset();
    co_await of.end_run();
    CHECK(sizes(of.file({})) == std::vector<std::size_t>{13});
  }(loop, samples, played));
  loop.run(tasks.idle());
  CHECK(played.told_to_end());
  CHECK(!samples.is_under_way());
}

TEST_CASE("a sampling that tells too much is ended, and not kept", "[recorder]") {
  transport::Loop loop;
  RecordedSamples samples(loop, [] { return 100'000'000; });
  Played played(loop);
  transport::TaskSet tasks(loop);
  bool failed = false;
  tasks.spawn([](RecordedSamples& to, Played& from, bool& fails) -> Task<void> {
    const auto recorded = co_await to.record(std::move(from.sampling));
    fails = !recorded;
  }(samples, played, failed));
  const std::string piece(32 * 1024, 'x');
  for (int pieces = 0; pieces < 80 && !failed; ++pieces) {
    played.write(piece);
    loop.run([](transport::Loop& of) -> Task<void> {
      for (int turns = 0; turns < 5; ++turns) co_await next_turn(of);
    }(loop));
  }
  CHECK(failed);
  CHECK(sizes(samples.file({})).empty());
}
