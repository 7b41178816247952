#include "cli/commands/cpu_profiling.hpp"

#include <cerrno>
#include <cstdlib>

#include "cli/terminal/text.hpp"
#include "router/symbol_files/symbol_search.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

using transport::Task;

Error interrupted() {
  return Error{"take a profile", {}, "it is interrupted", {}, EINTR};
}

/// Where what symbol servers send is kept (XDG Base Directory Specification). Empty: the user has no such
/// place.
std::string symbol_cache_directory() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/farport/symbols";
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/farport/symbols" : std::string();
}

router::SymbolSources sources_of(const config::SymbolSettings& settings) {
  return {settings.directories, settings.servers, symbol_cache_directory()};
}

/// What can be done instead, where the kernel lets nobody look.
Error with_way_out(Error error, config::ProfileEvent event) {
  error.hint += error.hint.empty() ? "" : "; ";
  error.hint += event == config::ProfileEvent::cpu ? "or give --event wall, which needs no samples of the "
                                                     "kernel's, or --wall: the runtime samples itself"
                                                   : "or give --wall: the runtime samples itself";
  return error;
}

}  // namespace

CpuProfiling::CpuProfiling(transport::Loop& loop, const router::ReaderProcess& readers,
                           const router::MirroredAgent& agent, const config::ProfileSettings& settings)
    : loop_(loop),
      readers_(readers),
      settings_(settings),
      progress_(loop),
      session_(loop, agent, settings.session,
               [this](const Error& why) { progress_.interrupted(why.message()); }),
      patience_(loop, session_, settings.patience, Patience::Work::events,
                [this](const std::string& line) { progress_.say(line); }),
      broken_off_(loop) {}

Task<Result<profile::Profile>> CpuProfiling::run(transport::StopSource& stop) {
  auto taken = co_await take(stop);
  co_await first_of(session_.leave(), stop.again());
  progress_.end();
  co_return taken;
}

Task<Result<profile::Profile>> CpuProfiling::take(transport::StopSource& stop) {
  const auto opened = co_await first_of(session_.open(settings_.runtime), stop.wait());
  if (!opened) co_return tl::unexpected(interrupted());
  if (!*opened) co_return tl::unexpected(opened->error());
  const router::Runtime& runtime = **opened;
  router::CpuProfile taken(
      session_.sessions(), runtime.id,
      {settings_.frequency, *settings_.duration, settings_.event == config::ProfileEvent::wall});
  const auto begun = co_await first_of(taken.begin(), stop.wait());
  if (!begun) co_return tl::unexpected(interrupted());
  if (!*begun) co_return tl::unexpected(with_way_out(begun->error(), settings_.event));
  progress_.begin(runtime.name, settings_.duration);
  const Result<void> received = co_await receive(taken, stop);
  if (!received) co_return tl::unexpected(received.error());
  progress_.note("asking for the names of methods");
  profile::Profile made = co_await name_all(taken.samples(), runtime, stop);
  co_return made;
}

Task<Result<void>> CpuProfiling::receive(router::CpuProfile& taken, transport::StopSource& stop) {
  transport::TaskSet stopping(loop_);
  stopping.spawn(stop_early(taken, stop));
  std::function<void(std::size_t)> count = [this](std::size_t bytes) { progress_.add(bytes); };
  auto received = co_await first_of(taken.receive(std::move(count)), broken_off_.wait());
  if (!received) co_return tl::unexpected(interrupted());
  co_return std::move(*received);
}

Task<void> CpuProfiling::stop_early(router::CpuProfile& taken, transport::StopSource& stop) {
  co_await stop.wait();
  stopped_early_ = true;
  progress_.note("stopping");
  const auto stopped = co_await first_of(taken.stop(), stop.again());
  if (stopped && *stopped) co_await stop.again();
  broken_off_.set();
}

Task<profile::Profile> CpuProfiling::name_all(router::CpuSamples& samples, const router::Runtime& runtime,
                                              transport::StopSource& stop) {
  router::NamedMethods names;
  const auto told = co_await first_of(ask_names(runtime, samples, names), stop.again());
  const router::CpuSamples::NameManaged managed = [&names](std::uint64_t address) {
    const profile::Frame* const found = names.find(address);
    return found == nullptr ? std::nullopt : std::optional(*found);
  };
  std::vector<std::string> missing = co_await search_symbols(samples, managed, stop);
  progress_.end();
  const std::string nameless = !told ? "it is interrupted" : *told ? std::string() : told->error().message();
  if (!nameless.empty()) print_message("methods of .NET have no names: " + nameless);
  print_messages(samples.notes());
  print_messages(missing);
  profile::Profile made;
  made.process = runtime.name;
  made.pid = runtime.pid;
  samples.add_to(made, managed);
  co_return made;
}

Task<Result<void>> CpuProfiling::ask_names(const router::Runtime& runtime, const router::CpuSamples& samples,
                                           router::NamedMethods& names) {
  if (runtime.state == router::RuntimeState::suspended)
    co_return tl::unexpected(router::is_suspended(runtime));
  // Who has pressed Ctrl-C wants what there is, and no wait for one that can't answer.
  std::optional<Error> still;
  if (stopped_early_) still = co_await patience_.standstill(runtime);
  if (still) co_return tl::unexpected(std::move(*still));
  std::vector<std::uint64_t> addresses;
  for (const router::SampledCall& call : samples.calls()) addresses.push_back(call.address);
  auto told = co_await patience_.wait(
      runtime, router::read_methods(session_.sessions(), runtime.id, readers_, std::move(addresses), names));
  co_return told;
}

Task<std::vector<std::string>> CpuProfiling::search_symbols(router::CpuSamples& samples,
                                                            const router::CpuSamples::NameManaged& managed,
                                                            transport::StopSource& stop) {
  std::vector<std::string> warnings;
  router::SymbolSources sources = sources_of(settings_.symbols);
  if (sources.empty()) co_return warnings;
  router::SymbolSearch search(loop_, std::move(sources),
                              [this](std::string doing) { progress_.note(std::move(doing)); });
  const bool whole = co_await first_of(search.run(samples.unnamed(managed), samples), stop.again());
  warnings = search.warnings();
  if (!whole) warnings.emplace_back("the search for symbols is interrupted: some functions have no names");
  co_return warnings;
}

}  // namespace farport::cli
