#include "router/agent/sampler/native_symbols.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>

#include <fmt/core.h>

#include "router/agent/sampler/user_files.hpp"

namespace farport::router {
namespace {

using std::chrono::milliseconds;

/// For all files together, since the end of a profile should not take much longer.
constexpr milliseconds kReadingLimit{20'000};

/// Whether to read symbols at this path: a file that still has its name, and is no assembly, whose methods
/// the runtime names.
bool has_symbols(const std::string& path) {
  return path.starts_with('/') && !path.starts_with("/memfd:") && !path.ends_with(" (deleted)") &&
         !path.ends_with(".dll") && !path.starts_with("/dev/") && !path.starts_with("/SYSV");
}

/// Returns a function that opens those of the files that exist, as the user and beneath the root. It must be
/// called in a process of its own, since it gives up rights.
OpenFiles opener(ProcessRoot& root, uid_t user, const std::vector<std::string>& paths) {
  return [&root, user, paths](std::string& why) {
    std::vector<UniqueFd> files;
    const UserFiles of_user(root, user);
    for (const std::string& path : paths) {
      UniqueFd file = of_user.open(path, why);
      if (file) files.push_back(std::move(file));
    }
    return files;
  };
}

/// Where a file's debug information may be: by its build id, and beside it (as gdb and .NET have it).
std::vector<std::string> debug_paths(const SampledMapping& of) {
  std::vector<std::string> paths;
  const std::string& id = of.build_id;
  if (id.size() > 2) {
    paths.push_back(fmt::format("/usr/lib/debug/.build-id/{}/{}.debug", id.substr(0, 2), id.substr(2)));
  }
  const std::size_t slash = of.path.rfind('/');
  const std::string directory = of.path.substr(0, slash);
  const std::string name = of.path.substr(slash + 1);
  paths.push_back(of.path + ".dbg");
  paths.push_back(of.path + ".debug");
  paths.push_back(directory + "/.debug/" + name + ".debug");
  paths.push_back("/usr/lib/debug" + of.path + ".debug");
  return paths;
}

void tell_places(const std::vector<MappedFile>& parts, SampleSink& to) {
  for (const MappedFile& part : parts) to.on_mapping({part.start, part.end, part.offset, part.path, {}});
}

}  // namespace

milliseconds NativeSymbols::time_left() const {
  const auto left = std::chrono::ceil<milliseconds>(until_ - std::chrono::steady_clock::now());
  return std::clamp(left, milliseconds(0), kOneFileLimit);
}

void NativeSymbols::tell(const AddressSpace& space, const std::vector<std::uint64_t>& addresses,
                         SampleSink& to, const std::function<void()>& told) {
  until_ = std::chrono::steady_clock::now() + kReadingLimit;
  std::map<std::string, SymbolQuestion> questions;
  const MappedFile* last = nullptr;
  for (const std::uint64_t address : addresses) {
    const MappedFile* const part = space.find(address);
    if (part == nullptr || part->path.empty()) continue;
    SymbolQuestion& question = questions[part->path];
    question.addresses.push_back(address);
    if (part != last) question.parts.push_back(*part);
    last = part;
  }
  for (const auto& [path, question] : questions) {
    if (root_ && has_symbols(path)) {
      tell_file(question, to);
    } else {
      tell_places(question.parts, to);
    }
    // `told` may wait for a slow reader, and that time does not count.
    const auto before = std::chrono::steady_clock::now();
    told();
    until_ += std::chrono::steady_clock::now() - before;
  }
}

void NativeSymbols::tell_file(const SymbolQuestion& question, SampleSink& to) {
  const std::string& path = question.parts.front().path;
  auto answer = read_file_symbols(
      opener(*root_, user_, {path}),
      [&](int fd, SampleSink& told) { return read_symbols(fd, question, told); }, time_left(), memory_);
  const std::string why = answer ? answer->why : answer.error().why;
  if (!why.empty()) to.on_note(fmt::format("{} has no names: {}", path, why));
  if (!answer || answer->parts.empty()) return tell_places(question.parts, to);
  for (const SampledMapping& part : answer->parts) {
    if (is_inside(question.parts, part)) to.on_mapping(part);
  }
  for (const SampledSymbol& symbol : answer->symbols) {
    if (is_inside(question.parts, symbol)) to.on_symbol(symbol);
  }
  UnnamedFile unnamed{std::move(answer->parts),
                      without_names(question.addresses, std::move(answer->symbols))};
  if (!unnamed.addresses.empty() && !unnamed.parts.front().build_id.empty()) tell_debug(unnamed, to);
}

void NativeSymbols::tell_debug(const UnnamedFile& of, SampleSink& to) {
  const auto answer = read_file_symbols(
      opener(*root_, user_, debug_paths(of.parts.front())),
      [&](int fd, SampleSink& told) { return read_debug_symbols(fd, of, told); }, time_left(), memory_);
  // Most files have none, so this is not worth a note.
  if (!answer) return;
  for (const SampledSymbol& symbol : answer->symbols) {
    if (is_inside(of.parts, symbol)) to.on_symbol(symbol);
  }
}

namespace {

/// The function at an address.
struct Function {
  std::uint64_t start = 0;         ///< 0 if unknown.
  std::uint64_t end = UINT64_MAX;  ///< Where the next function begins.
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
    // Compare each function only with the nearest addresses; the loop below passes its end on to earlier
    // ones.
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
