// Fuzzes HTTP/1.1 requests, as the address for health and metrics reads them: whole, and in pieces of the
// size that the first byte says, the same requests are found.
#include <string>
#include <string_view>
#include <vector>

#include "router/agent/admin/http1_parser.hpp"
#include "tests/fuzz/target.hpp"

using farport::fuzz::require;
using farport::router::Http1Parser;
using State = Http1Parser::State;

namespace {

/// All that is read of the input: a line for each request, and what is wrong in the end.
std::vector<std::string> read(std::string_view input, std::size_t piece) {
  std::vector<std::string> found;
  Http1Parser parser;
  while (!input.empty()) {
    std::string_view part = input.substr(0, piece);
    const std::size_t size = part.size();
    const State state = parser.feed(part);
    input.remove_prefix(size - part.size());
    if (state == State::wrong) {
      require(parser.status() >= 400, "what is wrong has a status");
      found.push_back(std::to_string(parser.status()));
      return found;
    }
    require(part.size() < size, "a request that goes on takes bytes");
    if (state == State::more) continue;
    const auto& request = parser.request();
    require(!request.method.empty(), "a request has a method");
    require(request.path.size() <= Http1Parser::kMaxHeadBytes, "what is kept of a request is bounded");
    found.push_back(request.method + " " + request.path);
    // Nothing is read behind the last one.
    if (!request.keep_alive) return found;
  }
  return found;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  require(read(input, 1 + std::size_t{data[0]}) == read(input, input.size()), "pieces make no difference");
  return 0;
}
