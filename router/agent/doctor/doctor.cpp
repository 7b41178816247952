#include "router/agent/doctor/doctor.hpp"

#include <chrono>

#include "router/agent/doctor/dump_check.hpp"
#include "router/agent/runtimes/probe.hpp"
#include "router/agent/sampler/sampler_looks.hpp"
#include "router/wire/runtime.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;
using Clock = std::chrono::steady_clock;
using Level = Finding::Level;

/// How long the result of a look is given to others as well.
constexpr std::chrono::seconds kFresh{5};
/// The time limit of an answer, including the wait for its turn.
constexpr Milliseconds kExaminationLimit{10'000};
constexpr std::size_t kMaxExamined = 100;

/// For example "orders (pid 12)".
std::string called(const Runtime& runtime) {
  return runtime.name + " (pid " + std::to_string(runtime.pid) + ")";
}

Diagnosis of_runtime(const Runtime& runtime, std::string_view step, Verdict verdict) {
  return {std::string(step), std::move(verdict.finding),
          DiagnosedRuntime{runtime.id, runtime.name, runtime.pid}, std::move(verdict.summary)};
}

Verdict silent(const Runtime& runtime, const std::string& why) {
  return {{Level::problem, called(runtime) + " does not answer: " + why,
           "is something else holding its diagnostics? An open, silent connection to its socket blocks all "
           "others; "
           "else start it again"},
          "does not answer"};
}

/// The verdict on a runtime that stands still according to the kernel.
Verdict halted(const Runtime& runtime, Halt halt) {
  ProcessCondition condition;
  condition.halt = halt;
  ConditionWords words = describe(condition, runtime);
  return {{Level::problem, called(runtime) + " does not answer: " + words.text, std::move(words.hint)},
          "does not answer"};
}

Verdict unanswered(const Runtime& runtime) {
  return {
      {Level::skipped, called(runtime) + ": whether it may be dumped was not asked, since it doesn't answer"},
      "was not asked, since it doesn't answer"};
}

}  // namespace

struct Doctor::Look {
  explicit Look(transport::Loop& loop) : changed(loop) {}

  std::vector<Diagnosis> found;
  bool over = false;
  Clock::time_point ended;
  transport::Condition changed;
};

Doctor::Doctor(transport::Loop& loop, Registry& registry, const Discovery& discovery, DumpLooks dump)
    : loop_(loop),
      registry_(registry),
      discovery_(discovery),
      dump_(std::move(dump)),
      slots_(loop, user_shares()),
      process_looks_(loop),
      tasks_(loop) {}

Doctor::~Doctor() = default;

std::vector<Diagnosis> Doctor::examine_search(const Registry::Filter& seen, Disclosure disclosure) const {
  return diagnoses_of(discovery_.findings(), registry_.all(seen).size(), disclosure);
}

Task<std::vector<Diagnosis>> Doctor::examine(Registry::Filter seen, Disclosure disclosure,
                                             transport::Share& share) {
  std::vector<RuntimePtr> runtimes = registry_.all(seen);
  const std::size_t left_out = runtimes.size() > kMaxExamined ? runtimes.size() - kMaxExamined : 0;
  runtimes.resize(runtimes.size() - left_out);
  std::vector<LookPtr> looks;
  for (const RuntimePtr& runtime : runtimes) looks.push_back(look_of(*runtime));
  const auto until = Clock::now() + kExaminationLimit;
  for (const LookPtr& look : looks) {
    while (!look->over && Clock::now() < until) {
      const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now());
      co_await with_deadline(loop_, look->changed.wait(), left);
    }
  }
  // Many callers may wait at once, so their answers are made one after the other, in their turns.
  co_await share.turn();
  const transport::Work work(share);
  std::vector<Diagnosis> all = examine_search(seen, disclosure);
  std::vector<Diagnosis> found;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    found.insert(found.end(), looks[i]->found.begin(), looks[i]->found.end());
    if (!looks[i]->over && looks[i]->found.empty()) {
      found.push_back(of_runtime(*runtimes[i], step::kAnswer,
                                 silent(*runtimes[i], "there was no time left to examine it")));
    }
  }
  found = as_told(std::move(found), disclosure);
  all.insert(all.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  if (left_out > 0) {
    all.push_back({std::string(step::kAnswer),
                   {Level::warning, std::to_string(left_out) + " more runtimes were not examined"}});
  }
  co_return all;
}

Doctor::LookPtr Doctor::look_of(const Runtime& runtime) {
  const auto now = Clock::now();
  std::erase_if(looks_,
                [now](const auto& each) { return each.second->over && now - each.second->ended > kFresh; });
  auto& look = looks_[runtime.id];
  if (look == nullptr) {
    look = std::make_shared<Look>(loop_);
    tasks_.spawn(look_at(runtime, look));
  }
  return look;
}

Task<void> Doctor::look_at(Runtime runtime, LookPtr look) {
  const ProbeSlots::Slot slot = co_await slots_.take(runtime.user);
  Verdict answer = co_await try_answer(runtime);
  const bool answers = answer.finding.level == Level::ok;
  look->found.push_back(of_runtime(runtime, step::kAnswer, std::move(answer)));
  co_await look_at_process(runtime, look, answers);
  look->over = true;
  look->ended = Clock::now();
  look->changed.changed();
}

Task<Verdict> Doctor::try_answer(Runtime runtime) {
  DiagnosticPort* port = registry_.port(runtime.id);
  if (port == nullptr) co_return silent(runtime, "it has ended");
  // A runtime that is to dial the agent may never do so.
  auto opened = co_await with_deadline(loop_, port->open(), kProbeLimit);
  if (!opened) co_return silent(runtime, "it takes no connection");
  if (!*opened) co_return silent(runtime, opened->error().message());
  const auto answer = co_await ask(***opened, ipc::make_message(ipc::kProcessInfo));
  if (!answer) {
    const RuntimePtr now = registry_.find(runtime.id);
    const Halt halt = now == nullptr ? Halt::none : now->halt;
    if (halt == Halt::stopped || halt == Halt::frozen) co_return halted(runtime, halt);
    co_return silent(runtime, answer.error().why);
  }
  const bool suspended = runtime.state == RuntimeState::suspended;
  co_return Verdict{
      {Level::ok, called(runtime) + " answers" + (suspended ? ", and waits to be resumed" : "")}, "answers"};
}

Task<void> Doctor::look_at_process(Runtime runtime, LookPtr look, bool answers) {
  const DiagnosticPort* port = registry_.port(runtime.id);
  if (port == nullptr) co_return;
  struct Facts {
    DumpFacts dump;
    Result<SamplingTry> profile;
  };
  const auto facts = std::make_shared<Facts>();
  const transport::PeerCredentials process = port->process();
  std::function<void()> work = [facts, process, socket = port->path(), runtime, by = dump_] {
    facts->dump = look_at_dump(by, process, socket, runtime);
    facts->profile = look_whether_sampled(by.sampler.get(), process.pid, process.uid);
  };
  const Result<void> looked = co_await process_looks_.run(process.pid, process.uid, std::move(work));
  const std::string name = called(runtime);
  if (!looked) {
    look->found.push_back(of_runtime(
        runtime, step::kDump,
        {{Level::problem, name + ": " + looked.error().message(), "what does it do to its file systems?"},
         "could not be looked at"}));
    co_return;
  }
  Verdict dump = answers ? judge_dump(facts->dump, name) : unanswered(runtime);
  look->found.push_back(of_runtime(runtime, step::kDump, std::move(dump)));
  Verdict profile = judge_profile(facts->profile, name);
  look->found.push_back(of_runtime(runtime, step::kProfile, std::move(profile)));
}

}  // namespace farport::router
