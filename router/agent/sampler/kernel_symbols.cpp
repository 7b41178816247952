#include "router/agent/sampler/kernel_symbols.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace farport::router {
namespace {

/// The function that an address is in.
struct Function {
  std::uint64_t start = 0;         ///< 0: none is known.
  std::uint64_t end = UINT64_MAX;  ///< Where the next one begins.
  std::string name;
  std::string module;
};

/// "ADDRESS TYPE NAME", with "\t[MODULE]" behind it.
bool parse(const std::string& line, Function& function) {
  const char* const end = line.data() + line.size();
  const auto [behind, error] = std::from_chars(line.data(), end, function.start, 16);
  if (error != std::errc() || end - behind < 4) return false;
  const char type = behind[1];
  if (type != 't' && type != 'T' && type != 'w' && type != 'W') return false;
  const std::string rest(behind + 3, end);
  const std::size_t tab = rest.find('\t');
  function.name = rest.substr(0, tab);
  function.module.clear();
  if (tab != std::string::npos && rest.size() > tab + 3) {
    function.module = rest.substr(tab + 2, rest.size() - tab - 3);
  }
  return true;
}

}  // namespace

bool tell_kernel_symbols(std::istream& kallsyms, const std::vector<std::uint64_t>& addresses,
                         std::uint64_t base, SampleSink& to) {
  std::vector<Function> found(addresses.size());
  bool shown = false;
  Function each;
  for (std::string line; std::getline(kallsyms, line);) {
    if (!parse(line, each) || each.start == 0) continue;
    shown = true;
    const std::uint64_t start = each.start - base;
    const auto next = std::lower_bound(addresses.begin(), addresses.end(), start);
    const auto place = static_cast<std::size_t>(next - addresses.begin());
    // Each is compared with its nearest addresses alone; those further on learn of it below.
    if (place < found.size() && start > found[place].start) {
      found[place].start = start;
      found[place].name.swap(each.name);
      found[place].module.swap(each.module);
    }
    if (place > 0) found[place - 1].end = std::min(found[place - 1].end, start);
  }
  for (std::size_t i = found.size(); i-- > 1;) found[i - 1].end = std::min(found[i - 1].end, found[i].end);
  std::uint64_t told = 0;
  const Function* function = nullptr;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].start != 0) function = &found[i];
    if (function == nullptr || function->start == told) continue;
    told = function->start;
    const std::uint64_t end = found[i].end == UINT64_MAX ? addresses[i] + 1 : found[i].end;
    to.on_symbol({function->start, end, function->name, function->module});
  }
  return shown;
}

}  // namespace farport::router
