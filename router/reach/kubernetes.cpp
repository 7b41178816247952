#include "router/reach/kubernetes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "router/reach/capture.hpp"
#include "router/reach/deploy_script.hpp"
#include "router/reach/kubernetes_target.hpp"
#include "router/reach/pods.hpp"
#include "router/reach/stdio_command.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Task;
using Arguments = std::vector<std::string>;

/// How often to ask whether an ephemeral container runs, and how long: its image may have to be pulled.
constexpr transport::Milliseconds kLookAgain{500};
constexpr int kLooks = 240;
constexpr std::string_view kHelperPrefix = "farport-";
/// How many helpers are tried until one answers.
constexpr int kMostTries = 4;
/// Containers of ours that have ended in a pod, whose entries stay in it for as long as it lives.
constexpr std::ptrdiff_t kMostEnded = 10;

/// kubectl with what says where; then `words`. Not by braced lists, which GCC 12 destroys twice in
/// coroutines.
template <typename... Words>
Arguments kubectl(const KubernetesTarget& target, const Words&... words) {
  Arguments all(1, "kubectl");
  if (!target.context.empty()) all.push_back("--context=" + target.context);
  if (!target.namespace_.empty()) all.push_back("--namespace=" + target.namespace_);
  (all.emplace_back(words), ...);
  return all;
}

/// The same target as a person would write it for one of its pods.
std::string way_of(const KubernetesTarget& target, const std::string& pod) {
  return "k8s://" + (target.context.empty() ? "" : target.context + "@") +
         (target.namespace_.empty() ? "" : target.namespace_ + "/") + pod +
         (target.container.empty() ? "" : "/" + target.container);
}

class PodReach final : public Reach {
 public:
  PodReach(KubernetesTarget target, std::string pod, Deploy deploy)
      : Reach(way_of(target, pod)),
        target_(std::move(target)),
        pod_(std::move(pod)),
        deploy_(std::move(deploy)) {}

  [[nodiscard]] Task<Result<Reached>> open(transport::Loop& loop, Log log) const override {
    const bool helps = deploy_.way == Deploy::Way::ephemeral ||
                       (deploy_.way == Deploy::Way::automatic && !deploy_.image.empty());
    if (helps) {
      auto reached = co_await open_ephemeral(loop, std::move(log));
      co_return reached;
    }
    auto reached = co_await open_inside(loop, std::move(log));
    co_return reached;
  }

 private:
  /// In the container itself.
  Task<Result<Reached>> open_inside(transport::Loop& loop, Log log) const {
    StdioCommand what{text(), kubectl(target_, "exec", "--stdin", pod_), nullptr, deploy_.announce};
    if (!target_.container.empty()) what.arguments.push_back("--container=" + target_.container);
    what.arguments.emplace_back("--");
    if (deploy_.way == Deploy::Way::never) {
      what.arguments.emplace_back("farport");
      what.arguments.emplace_back("stdio");
    } else {
      auto program = co_await deploy_.program->load(loop);
      if (!program) co_return tl::unexpected(program.error());
      what.program = std::move(*program);
      what.without_shell =
          "give --image IMAGE, one with farport in its PATH that the cluster can pull: it runs beside it";
      what.arguments.emplace_back("sh");
      what.arguments.emplace_back("-c");
      what.arguments.push_back(deploy_script(*what.program, deploy_, deploy_.way != Deploy::Way::copy));
    }
    auto reached = co_await open_stdio(loop, std::move(log), std::move(what));
    co_return reached;
  }

  /// In an ephemeral container that sees the target's processes. A helper is one that answers: what the
  /// kubelet says of it may be what was. Where none answers, another one is added.
  Task<Result<Reached>> open_ephemeral(transport::Loop& loop, Log log) const {
    Result<Reached> reached = fail("reach", text(), "no helper container answers");
    std::vector<std::string> silent;
    for (int tries = 0; tries < kMostTries; ++tries) {
      const auto helper = co_await choose(loop, silent);
      if (!helper) co_return tl::unexpected(helper.error());
      const auto runs = co_await await_running(loop, *helper);
      if (runs) {
        StdioCommand what{text(), kubectl(target_, "exec", "--stdin", pod_, "--container=" + *helper, "--",
                                          "farport", "stdio", "--join", kHelperSocket)};
        what.patience = kHelperPatience;
        reached = co_await open_stdio(loop, log, std::move(what));
      } else {
        reached = tl::unexpected(runs.error());
      }
      if (reached) co_return reached;
      silent.push_back(*helper);
    }
    co_return reached;
  }

  /// Of our ephemeral containers for this image and container the last that may run, but for those that are
  /// silent; else a new one's name. Commands that come at the same time choose the same one.
  Task<Result<std::string>> choose(transport::Loop& loop, std::vector<std::string> silent) const {
    const auto pod = co_await look(loop);
    if (!pod) co_return tl::unexpected(pod.error());
    const std::string container = target_.container.empty() ? pod->default_container : target_.container;
    std::ptrdiff_t ended = 0;
    std::size_t ours = 0;
    std::string found;
    for (const EphemeralContainer& each : pod->ephemeral) {
      if (!each.name.starts_with(kHelperPrefix)) continue;
      ++ours;
      const bool silent_one = std::find(silent.begin(), silent.end(), each.name) != silent.end();
      if (!each.ended.empty() || silent_one) {
        ++ended;
      } else if (each.image == deploy_.image && each.target == container) {
        found = each.name;
      }
    }
    if (!found.empty()) co_return found;
    if (ended >= kMostEnded) {
      co_return fail("reach", text(),
                     fmt::format("{} ephemeral containers of ours have ended in this pod, and their entries "
                                 "stay for as long as it lives",
                                 ended),
                     "use --deploy copy, or replace the pod");
    }
    found = fmt::format("{}{}", kHelperPrefix, ours + 1);
    const auto added = co_await add(loop, container, found);
    if (!added) co_return tl::unexpected(added.error());
    co_return found;
  }

  Task<Result<void>> add(transport::Loop& loop, std::string container, std::string helper) const {
    deploy_.announce(fmt::format(
        "{}: adds an ephemeral container (image {}) that sees the processes of {}; it goes {:g} s "
        "after its last session, its entry stays in the pod",
        text(), deploy_.image, container, std::chrono::duration<double>(deploy_.linger).count()));
    const auto added = co_await capture(
        loop, kubectl(target_, "debug", pod_, "--image=" + deploy_.image, "--target=" + container,
                      "--container=" + helper, "--", "farport", "stdio", "--foreground", "--directory",
                      kHelperDirectory, "--linger", fmt::format("{}ms", deploy_.linger.count())));
    if (added) co_return Result<void>();
    // Another command may have been quicker.
    const auto now = co_await look(loop);
    const bool known =
        now && std::any_of(now->ephemeral.begin(), now->ephemeral.end(),
                           [&](const EphemeralContainer& each) { return each.name == helper; });
    if (known) co_return Result<void>();
    co_return tl::unexpected(added.error());
  }

  /// Errors: it has ended, or can't come.
  Task<Result<void>> await_running(transport::Loop& loop, std::string helper) const {
    for (int looks = 0; looks < kLooks; ++looks) {
      const auto now = co_await look(loop);
      if (!now) co_return tl::unexpected(now.error());
      for (const EphemeralContainer& each : now->ephemeral) {
        if (each.name != helper) continue;
        if (each.running) co_return Result<void>();
        if (!each.ended.empty()) co_return fail("start a container in", text(), each.ended);
      }
      co_await transport::sleep(loop, kLookAgain);
    }
    co_return fail("start a container in", text(), "it does not come");
  }

  Task<Result<Pod>> look(transport::Loop& loop) const {
    const auto told = co_await capture(loop, kubectl(target_, "get", "pod", pod_, "--output=json"));
    if (!told) co_return tl::unexpected(told.error());
    auto pods = parse_pods(*told);
    if (!pods) co_return tl::unexpected(pods.error());
    if (pods->empty()) co_return fail("reach", text(), "there is no such pod");
    co_return std::move(pods->front());
  }

  KubernetesTarget target_;
  std::string pod_;
  Deploy deploy_;
};

/// The pods of a workload or with labels.
class Pods final : public ReachTarget {
 public:
  Pods(std::string text, KubernetesTarget target, Deploy deploy)
      : ReachTarget(std::move(text)), target_(std::move(target)), deploy_(std::move(deploy)) {}

  [[nodiscard]] bool changes() const override { return true; }

  [[nodiscard]] Task<Result<Ways>> find(transport::Loop& loop) const override {
    std::string labels = target_.labels;
    if (labels.empty()) {
      const auto workload =
          co_await capture(loop, kubectl(target_, "get", target_.kind, target_.name, "--output=json"));
      if (!workload) co_return tl::unexpected(workload.error());
      auto selector = parse_selector(*workload);
      if (!selector) co_return tl::unexpected(selector.error());
      labels = std::move(*selector);
    }
    const auto told =
        co_await capture(loop, kubectl(target_, "get", "pods", "--selector=" + labels, "--output=json"));
    if (!told) co_return tl::unexpected(told.error());
    const auto pods = parse_pods(*told);
    if (!pods) co_return tl::unexpected(pods.error());
    Ways ways;
    for (const Pod& pod : *pods) {
      if (pod.running) ways.push_back(std::make_shared<PodReach>(target_, pod.name, deploy_));
    }
    co_return ways;
  }

 private:
  KubernetesTarget target_;
  Deploy deploy_;
};

}  // namespace

Result<std::shared_ptr<const ReachTarget>> kubernetes_target(std::string text, std::string_view target,
                                                             Deploy deploy) {
  auto parsed = parse_kubernetes_target(target);
  if (!parsed) return tl::unexpected(parsed.error());
  if (deploy.way == Deploy::Way::ephemeral && deploy.image.empty()) {
    return fail("reach", text, "an ephemeral container needs an image that the cluster can pull",
                "give --image IMAGE, one with farport in its PATH");
  }
  if (parsed->kind == "pod") {
    const std::string pod = parsed->name;
    return single_way(std::make_shared<PodReach>(std::move(*parsed), pod, std::move(deploy)));
  }
  return std::make_shared<Pods>(std::move(text), std::move(*parsed), std::move(deploy));
}

}  // namespace farport::router
