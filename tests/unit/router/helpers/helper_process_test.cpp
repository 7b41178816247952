#include "router/helpers/helper_process.hpp"

#include <array>
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace farport;
using namespace farport::router;

namespace {

/// Holds its descriptor, and says so there, until it is ended; lets go of all others.
void hold(std::string_view request, const std::vector<UniqueFd>& descriptors) {
  const auto kept = static_cast<unsigned>(descriptors.front().get());
  ::close_range(3, kept - 1, 0);
  ::close_range(kept + 1, ~0U, 0);
  std::ignore = ::write(descriptors.front().get(), "h", 1);
  if (request == "stopped") std::raise(SIGSTOP);
  for (;;) ::pause();
}

/// A pipe: what is read says whether anybody still holds the other end.
struct HeldPipe {
  HeldPipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    ours = UniqueFd(ends[0]);
    theirs = UniqueFd(ends[1]);
  }
  UniqueFd ours;
  UniqueFd theirs;
};

/// What comes out of it; 0: nobody holds the other end.
char next_of(const HeldPipe& pipe) {
  char byte = 0;
  return ::read(pipe.ours.get(), &byte, 1) == 1 ? byte : '\0';
}

}  // namespace

TEST_CASE("who sees to a request ends when its lifeline is closed", "[helpers]") {
  const auto helper = HelperProcess::start({"test-helper", [] {}, hold});
  REQUIRE(helper);
  const std::string how = GENERATE("busy", "stopped");
  HeldPipe pipe;
  {
    const auto lifeline = helper->begin(how, {pipe.theirs.get()});
    REQUIRE(lifeline);
    pipe.theirs.reset();
    REQUIRE(next_of(pipe) == 'h');
  }
  CHECK(next_of(pipe) == '\0');
  CHECK(helper->running());
}

TEST_CASE("who sees to a request ends where its lifeline was closed before it began", "[helpers]") {
  const auto helper = HelperProcess::start({"test-helper", [] {}, hold});
  REQUIRE(helper);
  HeldPipe pipe;
  CHECK(helper->begin("busy", {pipe.theirs.get()}));
  pipe.theirs.reset();
  while (next_of(pipe) == 'h') {
  }
  CHECK(helper->running());
}
