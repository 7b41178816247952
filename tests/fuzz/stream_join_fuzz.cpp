// Fuzzes the joining of streams. The first byte of an input says in what pieces the rest comes, and the
// second at which of its 256 parts the second stream begins, which comes twice. Whatever it is, the pieces
// make no difference, and where the reader takes the first stream it takes the result up to where the second
// one begins.
#include <algorithm>
#include <vector>

#include "nettrace/reader.hpp"
#include "nettrace/stream_join.hpp"
#include "tests/fuzz/target.hpp"

using farport::fuzz::require;
using namespace farport::nettrace;

namespace {

using Bytes = std::vector<std::byte>;

void append(Bytes& to, const Bytes& more) {
  to.insert(to.end(), more.begin(), more.end());
}

struct Joined {
  Bytes bytes;
  std::size_t first_size = 0;  ///< What the first stream became.
};

Joined join(BytesView first, BytesView second, std::size_t piece) {
  StreamJoin joined;
  Joined result;
  const auto take_all = [&](BytesView from) {
    for (; !from.empty(); from = from.subspan(std::min(piece, from.size()))) {
      const auto taken = joined.take(from.first(std::min(piece, from.size())));
      require(taken || !taken.error().why.empty(), "every error has a cause");
      if (!taken) return;
      append(result.bytes, *taken);
    }
  };
  take_all(first);
  result.first_size = result.bytes.size();
  for (int streams = 0; streams < 2; ++streams) {
    joined.next_stream();
    take_all(second);
  }
  if (joined.add_kind({"Added", 1, 1, 1, 1})) {
    joined.add_stacks({{1, 2}, {}});
    append(result.bytes, joined.add_events({{}, {Bytes(3), 7, 8, 2}}));
  }
  append(result.bytes, joined.end());
  return result;
}

class Nothing : public Handler {
 public:
  void on_event(const Event& /*event*/) override {}
};

bool reads(BytesView bytes) {
  Nothing handler;
  Reader reader(handler);
  return reader.feed(bytes).has_value();
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const BytesView bytes = std::as_bytes(std::span(data, size)).subspan(2);
  const std::size_t half = bytes.size() * data[1] / 256;
  const BytesView first = bytes.first(half);
  const BytesView second = bytes.subspan(half);
  const Joined whole = join(first, second, std::max<std::size_t>(bytes.size(), 1));
  require(join(first, second, 1 + std::size_t{data[0]}).bytes == whole.bytes, "pieces make no difference");
  if (reads(first))
    require(reads(BytesView(whole.bytes).first(whole.first_size)), "the first stream is read");
  return 0;
}
