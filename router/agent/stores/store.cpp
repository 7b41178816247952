#include "router/agent/stores/store.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

/// How long a command may take to end, once it takes no more.
constexpr Milliseconds kUntilEnd{5'000};
/// What is smaller says little about how fast a store is.
constexpr std::uint64_t kEnoughToMeasure = std::uint64_t{16} << 20;

}  // namespace

CommandVariables variables_of(const Artifact& artifact, const std::string& file) {
  return {{"file", file},
          {"id", artifact.id},
          {"kind", artifact.kind},
          {"time", artifact.time},
          {"host", artifact.runtime.host},
          {"pod", artifact.runtime.container.pod},
          {"container", artifact.runtime.container.name},
          {"runtime", artifact.runtime.name},
          {"size", std::to_string(artifact.size)},
          {"sha256", artifact.sha256}};
}

Result<std::unique_ptr<StoreUpload>> Store::begin(const Artifact& artifact, const std::uint64_t& given) {
  ASSIGN_OR_RETURN(auto command,
                   commands_->begin(loop_, settings_.command, variables_of(artifact, artifact.file_name())));
  return std::make_unique<StoreUpload>(shared_from_this(), std::move(command), given);
}

Task<Result<void>> Store::put(const Artifact& artifact, std::string file, std::string text) {
  const CommandVariables variables = variables_of(artifact, file);
  CO_ASSIGN_OR_RETURN(const auto ended, co_await run(settings_.command, variables, text));
  const std::string why = ended.why_failed();
  if (!why.empty()) co_return failed(why);
  auto checked = co_await check(variables, text.size());
  co_return checked;
}

/// Asks the store how much it has.
Task<Result<void>> Store::check(CommandVariables variables, std::uint64_t bytes) {
  if (!settings_.check) co_return Result<void>();
  CO_ASSIGN_OR_RETURN(auto ended, co_await run(*settings_.check, std::move(variables), ""));
  // There is nothing to be read.
  ended.read_all = true;
  const std::string why = ended.why_failed();
  if (!why.empty()) co_return failed("its check: " + why);
  const std::string said =
      ended.output.substr(std::min(ended.output.find_first_not_of(" \t"), ended.output.size()));
  const auto there = number_in<std::uint64_t>(said.substr(0, said.find_first_not_of("0123456789")));
  if (!there) co_return failed("the check of the store printed no number of bytes");
  if (*there != bytes) co_return failed(fmt::format("it has {} bytes of {}, says its check", *there, bytes));
  co_return Result<void>();
}

/// Runs one of the commands to its end, with a short text as its input.
Task<Result<CommandResult>> Store::run(std::size_t command, CommandVariables variables, std::string input) {
  CO_ASSIGN_OR_RETURN(const auto running, commands_->begin(loop_, command, variables));
  // It fits into the socket, so a command that takes nothing is seen by its end only.
  if (!input.empty()) std::ignore = co_await running->input().write(std::as_bytes(std::span(input)));
  std::ignore = co_await running->input().finish();
  const std::uint64_t given = input.size();
  transport::TaskSet watching(loop_);
  watching.spawn(watch(*running, given));
  auto result = co_await running->result();
  co_return result;
}

/// Gives a command up that takes nothing more, or does not end.
Task<void> Store::watch(RunningCommand& command, const std::uint64_t& given) {
  for (;;) {
    const std::uint64_t before = given;
    co_await transport::sleep(loop_, settings_.timeout);
    if (given != before) continue;
    const double seconds = std::chrono::duration<double>(settings_.timeout).count();
    command.give_up({"send it to", name(), fmt::format("the command took nothing for {} s", seconds),
                     "raise egress.timeout if the store is that slow"});
    co_return;
  }
}

void Store::note_taken(std::uint64_t bytes, std::chrono::duration<double> took) {
  if (bytes < kEnoughToMeasure) return;
  rate_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(bytes) / took.count()));
}

StoreUpload::StoreUpload(std::shared_ptr<Store> store, std::unique_ptr<RunningCommand> command,
                         const std::uint64_t& given)
    : store_(std::move(store)), command_(std::move(command)), given_(given), watching_(store_->loop_) {}

void StoreUpload::watch() {
  if (watching_.size() == 0) watching_.spawn(store_->watch(*command_, given_));
}

Task<Result<void>> StoreUpload::stored(Artifact artifact) {
  watch();
  CO_ASSIGN_OR_RETURN(const auto ended, co_await command_->result());
  watching_.clear();
  const std::string why = ended.why_failed();
  if (!why.empty()) co_return store_->failed(why);
  auto checked = co_await store_->check(variables_of(artifact, artifact.file_name()), given_);
  co_return checked;
}

Task<Error> StoreUpload::why_broken(std::string otherwise) {
  watching_.clear();
  const auto ended = co_await with_deadline(store_->loop_, command_->result(), kUntilEnd);
  const std::string said = ended && *ended ? (*ended)->why_failed() : "";
  co_return store_->failed(said.empty() ? otherwise : said).value();
}

}  // namespace farport::router
