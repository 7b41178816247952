#include "router/wire/runtime_names.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>

#include <arpa/inet.h>
#include <fnmatch.h>

#include "base/directory.hpp"

namespace farport::router {
namespace {

/// TASK_COMM_LEN, without the byte that ends it.
constexpr std::size_t kKeptByKernel = 15;

}  // namespace

std::string tool_name(const Runtime& runtime) {
  const std::string_view kept = std::string_view(runtime.name).substr(0, kKeptByKernel);
  std::string_view rest = runtime.command_line;
  for (int word = 0; word < 2; ++word) {
    const std::size_t space = rest.find(' ');
    const std::string_view file = file_of(rest.substr(0, space));
    if (file.starts_with(kept)) return std::string(file);
    if (space == std::string_view::npos) break;
    rest.remove_prefix(space + 1);
  }
  return std::string(kept);
}

std::string program_name(const Runtime& runtime) {
  const std::string_view line = runtime.command_line;
  return std::string(file_of(line.substr(0, line.find(' '))));
}

namespace {

bool has_wildcard(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

bool glob(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), FNM_CASEFOLD) == 0;
}

/// More choices than these are no help.
constexpr std::size_t kOffered = 20;

/// Whether `wanted`, which says nothing of a host, names this runtime.
bool names_on_its_host(const std::string& wanted, const Runtime& runtime) {
  // Without wildcards this is a comparison without regard to case.
  if (has_wildcard(wanted)) {
    return glob(wanted, runtime.name) || glob(wanted, tool_name(runtime)) ||
           glob(wanted, runtime.command_line.substr(0, runtime.command_line.find(' ')));
  }
  if (runtime.host_pid != 0 && wanted == std::to_string(runtime.host_pid)) return true;
  return wanted == std::to_string(runtime.pid) || glob(wanted, runtime.id) || glob(wanted, runtime.name) ||
         glob(wanted, tool_name(runtime)) || glob(wanted, program_name(runtime));
}

bool is_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

/// "fd00::2" of "[fd00::2]:9000" and "[fd00::2]".
std::string without_port(std::string_view address) {
  if (address.starts_with('[')) return std::string(address.substr(1, address.find(']') - 1));
  return std::string(address.substr(0, address.rfind(':')));
}

/// Where it runs, by the agent's word: its pod or container, as `farport ps` shows them, and its host.
std::vector<std::string> places_of(const Runtime& runtime) {
  const Container& container = runtime.container;
  std::vector<std::string> places{container.pod};
  if (!container.name.empty())
    places.push_back(container.pod.empty() ? container.name : container.pod + "/" + container.name);
  places.push_back(runtime.host);
  std::erase(places, std::string());
  return places;
}

/// Whether `place` is the runtime's. An agent's word stands for no address.
bool names_place(const std::string& place, const Runtime& runtime) {
  if (place == runtime.address) return true;
  const std::string plain = place.starts_with('[') ? without_port(place) : place;
  if (glob(plain, without_port(runtime.address))) return true;
  if (is_address(plain)) return false;
  const std::vector<std::string> places = places_of(runtime);
  return std::any_of(places.begin(), places.end(),
                     [&](const std::string& each) { return glob(place, each); });
}

/// Whether a person can type it as it is shown.
bool is_typable(std::string_view text) {
  return !text.empty() && !has_wildcard(text) &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != 0x7F; });
}

bool names_only(const std::string& text, const Runtime& runtime,
                const std::vector<const Runtime*>& runtimes) {
  return is_typable(text) && std::none_of(runtimes.begin(), runtimes.end(), [&](const Runtime* other) {
           return other != &runtime && names_runtime(text, *other);
         });
}

/// What to write for the runtime, and in brackets what else is known of it.
std::string offer(const Runtime& runtime, const std::vector<const Runtime*>& runtimes) {
  const std::string pid = std::to_string(runtime.pid);
  const std::vector<std::string> places = places_of(runtime);
  const std::string on = places.empty() ? std::string() : " on " + places.front();
  const auto unique = [&](const std::string& text) { return names_only(text, runtime, runtimes); };
  if (unique(runtime.name)) return runtime.name + " (pid " + pid + on + ")";
  for (const std::string& place : places) {
    if (unique(runtime.name + "@" + place)) return runtime.name + "@" + place + " (pid " + pid + ")";
  }
  const std::string by_address = runtime.name + "@" + runtime.address;
  if (!runtime.address.empty() && unique(by_address)) return by_address + " (pid " + pid + ")";
  if (unique(pid)) return pid + " (" + runtime.name + on + ")";
  for (const std::string& place : places) {
    if (unique(pid + "@" + place)) return pid + "@" + place + " (" + runtime.name + ")";
  }
  return runtime.id + " (" + runtime.name + ", pid " + pid + on + ")";
}

std::string offers(const std::vector<const Runtime*>& offered, const std::vector<const Runtime*>& runtimes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(offered.size(), kOffered); ++i) {
    text += (i == 0 ? "" : ", ") + offer(*offered[i], runtimes);
  }
  const std::size_t more = offered.size() - std::min(offered.size(), kOffered);
  return more == 0 ? text : text + ", or one of " + std::to_string(more) + " more (farport ps lists them)";
}

/// Leaves out those that a pid names on their host where it is another one's own.
void prefer_own_pids(std::string_view wanted, std::vector<const Runtime*>& fitting) {
  const auto is_own = [&](const Runtime* each) { return wanted == std::to_string(each->pid); };
  if (std::none_of(fitting.begin(), fitting.end(), is_own)) return;
  std::erase_if(fitting, [&](const Runtime* each) {
    return !is_own(each) && each->host_pid != 0 && wanted == std::to_string(each->host_pid);
  });
}

}  // namespace

bool names_runtime(std::string_view wanted, const Runtime& runtime) {
  if (names_on_its_host(std::string(wanted), runtime)) return true;
  // Names and hosts may have an @ of their own.
  for (std::size_t at = wanted.find('@'); at != std::string_view::npos; at = wanted.find('@', at + 1)) {
    const std::string host(wanted.substr(at + 1));
    if (at > 0 && !host.empty() && names_place(host, runtime) &&
        names_on_its_host(std::string(wanted.substr(0, at)), runtime)) {
      return true;
    }
  }
  return false;
}

Result<std::size_t> choose_runtime(std::string_view wanted, const std::vector<const Runtime*>& runtimes) {
  std::vector<const Runtime*> fitting;
  std::copy_if(runtimes.begin(), runtimes.end(), std::back_inserter(fitting),
               [&](const Runtime* each) { return wanted.empty() || names_runtime(wanted, *each); });
  prefer_own_pids(wanted, fitting);
  if (fitting.size() == 1) {
    return static_cast<std::size_t>(std::find(runtimes.begin(), runtimes.end(), fitting.front()) -
                                    runtimes.begin());
  }
  const std::string_view on = wanted.empty() ? "a runtime" : wanted;
  if (runtimes.empty()) {
    return tl::unexpected(Error{"choose", std::string(on), "the agent has no runtime", {}, ESRCH});
  }
  if (fitting.empty()) {
    return tl::unexpected(Error{"choose", std::string(on), "there is no such runtime",
                                "choose one of " + offers(runtimes, runtimes), ESRCH});
  }
  return fail("choose", on, std::to_string(fitting.size()) + " runtimes fit",
              "choose one of " + offers(fitting, runtimes));
}

}  // namespace farport::router
