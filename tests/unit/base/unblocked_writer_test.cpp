#include "base/unblocked_writer.hpp"

#include <array>
#include <cerrno>
#include <string>

#include <unistd.h>

#include <catch2/catch.hpp>

using farport::UnblockedWriter;

namespace {

/// A pipe whose reader takes only what a test reads.
class Pipe {
 public:
  Pipe() { REQUIRE(::pipe(ends_.data()) == 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  [[nodiscard]] int in() const { return ends_[1]; }
  [[nodiscard]] std::string read() const {
    std::string text(1 << 20, '\0');
    text.resize(static_cast<std::size_t>(::read(ends_[0], text.data(), text.size())));
    return text;
  }

 private:
  std::array<int, 2> ends_{};
};

}  // namespace

TEST_CASE("a reader that reads gets every line", "[base]") {
  const Pipe pipe;
  UnblockedWriter writer;
  CHECK(writer.write(pipe.in(), "one\ntwo\n") == 0);
  CHECK(pipe.read() == "one\ntwo\n");
  CHECK(writer.lost() == 0);
}

TEST_CASE("a reader that doesn't read loses lines, is not waited for, and gets whole lines again", "[base]") {
  const Pipe pipe;
  UnblockedWriter writer;
  const std::string line = std::string(999, 'x') + "\n";
  for (int i = 0; i < 1000; ++i) CHECK(writer.write(pipe.in(), line) == 0);
  CHECK(writer.lost() > 500);
  CHECK(writer.lost() < 1000);
  std::string taken = pipe.read();
  CHECK(writer.write(pipe.in(), "after\n") == 0);
  taken += pipe.read();
  CHECK(taken.ends_with("\nafter\n"));
}

TEST_CASE("a write that fails says so", "[base]") {
  UnblockedWriter writer;
  CHECK(writer.write(-1, "nowhere\n") == EBADF);
  CHECK(writer.lost() == 1);
}
