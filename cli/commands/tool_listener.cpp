#include "cli/commands/tool_listener.hpp"

#include <algorithm>
#include <cstdio>
#include <tuple>

#include <fmt/core.h>

#include "cli/terminal/text.hpp"
#include "router/wire/runtime.hpp"

namespace farport::cli {
namespace {

using router::MirrorRow;

void say(const std::string& text) {
  print_message(text);
}

std::string described(const router::Runtime& runtime) {
  return fmt::format("{} (pid {}{}{})", runtime.name, runtime.pid, runtime.host.empty() ? "" : " on ",
                     runtime.host);
}

}  // namespace

ToolListener::ToolListener(router::Mirror& mirror, std::string remote, std::string wanted, std::string socket)
    : mirror_(mirror), remote_(std::move(remote)), wanted_(std::move(wanted)), socket_(std::move(socket)) {}

Result<void> ToolListener::begin() {
  if (!wanted_.empty()) {
    std::vector<MirrorRow> fitting = rows();
    std::erase_if(fitting, [&](const MirrorRow& row) { return !names_runtime(wanted_, row.runtime); });
    if (!fitting.empty()) {
      const auto row = mirror_.choose(wanted_, remote_);
      if (!row) return tl::unexpected(row.error());
      take(*row);
      return {};
    }
  } else {
    for (const MirrorRow& row : rows()) {
      if (row.runtime.state == router::RuntimeState::running) running_.insert(row.runtime.id);
    }
    if (const auto row = next_to_start()) {
      take(*row);
      return {};
    }
  }
  say(wanted_.empty() ? fmt::format("waiting for the next runtime to start at {}", remote_)
                      : fmt::format("waiting for {} to start at {}", wanted_, remote_));
  return {};
}

void ToolListener::look() {
  if (taken_.empty()) {
    if (const auto row = next_to_start()) take(*row);
    return;
  }
  for (const MirrorRow& row : rows()) {
    if (row.runtime.id != taken_ || row.local_pid == dialled_as_) continue;
    dialled_as_ = row.local_pid;
    std::ignore = mirror_.dial(row, socket_);
  }
}

std::vector<MirrorRow> ToolListener::rows() const {
  return mirror_.rows(remote_);
}

std::optional<MirrorRow> ToolListener::next_to_start() const {
  std::vector<MirrorRow> fitting = rows();
  std::erase_if(fitting, [&](const MirrorRow& row) {
    return running_.contains(row.runtime.id) || (!wanted_.empty() && !names_runtime(wanted_, row.runtime));
  });
  // The one that has waited longest.
  const auto first =
      std::min_element(fitting.begin(), fitting.end(), [](const MirrorRow& a, const MirrorRow& b) {
        return std::tie(a.runtime.since, a.runtime.pid) < std::tie(b.runtime.since, b.runtime.pid);
      });
  if (first == fitting.end()) return std::nullopt;
  return *first;
}

void ToolListener::take(const MirrorRow& row) {
  const Result<void> dialled = mirror_.dial(row, socket_);
  if (!dialled) {
    say(dialled.error().message());
    return;
  }
  taken_ = row.runtime.id;
  dialled_as_ = row.local_pid;
  const bool suspended = row.runtime.state == router::RuntimeState::suspended;
  say(fmt::format("the tool gets {}{}", described(row.runtime), suspended ? ", which is suspended" : ""));
}

}  // namespace farport::cli
