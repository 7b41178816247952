#include "router/symbols/file_symbols.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <tuple>

#include <sys/stat.h>

#include "confinement/confinement.hpp"
#include "router/symbols/isolated.hpp"
#include "router/wire/sample_reader.hpp"

namespace farport::router {
namespace {

/// What the answer of an isolated process begins with.
constexpr char kUsable = 'u';
constexpr char kUnusable = '-';

class FileSymbolsSink final : public SampleSink {
 public:
  void on_mapping(SampledMapping mapping) override { told.parts.push_back(std::move(mapping)); }
  void on_symbol(SampledSymbol symbol) override { told.symbols.push_back(std::move(symbol)); }
  void on_end(SamplingEnd, std::string_view text) override { told.why = text; }

  FileSymbols told;
};

std::string open_and_read(const OpenFiles& open, const ReadFile& read) {
  std::string why;
  const std::vector<UniqueFd> files = open(why);
  const bool confined = confinement::confine_parser();
  if (!confined) why = "the kernel does not let the process that reads it give up its rights (seccomp)";
  SampleWriter told;
  told.on_start({1, SampleClock::cpu_clock, false});
  const bool usable = confined && std::any_of(files.begin(), files.end(),
                                              [&](const UniqueFd& file) { return read(file.get(), told); });
  told.on_end(SamplingEnd::time_over, why);
  return (usable ? kUsable : kUnusable) + told.take();
}

}  // namespace

Result<FileSymbols> read_file_symbols(const OpenFiles& open, const ReadFile& read,
                                      std::chrono::milliseconds limit, std::uint64_t memory) {
  const auto answer = run_isolated([&] { return open_and_read(open, read); }, limit, memory);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->empty()) return fail("read", "the symbols", "there is no answer");
  FileSymbolsSink sink;
  SampleReader reader(sink);
  const Result<void> read_whole = reader.read(std::as_bytes(std::span(*answer).subspan(1)));
  if (!read_whole) return tl::unexpected(read_whole.error());
  sink.told.usable = answer->front() == kUsable;
  return std::move(sink.told);
}

UniqueFd regular_only(UniqueFd file, std::string& why) {
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    why = std::strerror(errno);
    return {};
  }
  if (S_ISREG(status.st_mode)) return file;
  why = "it is no regular file";
  return {};
}

std::vector<std::uint64_t> without_names(const std::vector<std::uint64_t>& addresses,
                                         std::vector<SampledSymbol> symbols) {
  std::sort(symbols.begin(), symbols.end(),
            [](const SampledSymbol& one, const SampledSymbol& other) { return one.start < other.start; });
  std::vector<std::uint64_t> without;
  auto symbol = symbols.begin();
  for (const std::uint64_t address : addresses) {
    while (symbol != symbols.end() && symbol->end <= address) ++symbol;
    if (symbol == symbols.end() || address < symbol->start) without.push_back(address);
  }
  return without;
}

}  // namespace farport::router
