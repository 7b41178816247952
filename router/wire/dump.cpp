#include "router/wire/dump.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "router/wire/json_members.hpp"

namespace farport::router {
namespace {

/// More values than an answer about a dump has.
constexpr std::size_t kValues = 100;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
/// What a dump contains besides the process's own memory: headers, tables, the runtime's own images.
constexpr std::uint64_t kMiniSize = 16 * kMiB;
constexpr std::uint64_t kHeapExtra = 8 * kMiB;
constexpr std::uint64_t kFullExtra = 48 * kMiB;

}  // namespace

std::uint64_t likely_dump_size(ipc::DumpType type, std::uint64_t used, std::uint64_t own) {
  switch (type) {
    case ipc::DumpType::normal:
    case ipc::DumpType::triage:
      return kMiniSize;
    case ipc::DumpType::with_heap:
      return std::max(used, own) + kHeapExtra;
    case ipc::DumpType::full:
      break;
  }
  return std::max(used, own) + kFullExtra;
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{} MiB", bytes >> 20);
}

std::string describe(const DumpProgress& progress) {
  if (progress.phase == DumpProgress::Phase::sending) {
    return fmt::format("sent {} of {}", progress.sent >> 20, mebibytes(progress.total));
  }
  const std::string written = fmt::format("written {}", progress.written >> 20);
  return progress.estimate ? written + " of about " + mebibytes(*progress.estimate) : written + " MiB";
}

std::string to_json(const DumpProgress& progress) {
  json object = {{"phase", progress.phase == DumpProgress::Phase::writing ? "writing" : "sending"},
                 {"written", progress.written},
                 {"sent", progress.sent},
                 {"total", progress.total}};
  if (progress.estimate) object["estimate"] = *progress.estimate;
  return text_of(object);
}

Result<DumpProgress> dump_progress_from_json(std::string_view text) {
  try {
    const json object = parse_bounded(text, kValues);
    DumpProgress progress;
    if (object.at("phase").get<std::string>() == "sending") progress.phase = DumpProgress::Phase::sending;
    progress.written = number_at<std::uint64_t>(object, "written");
    progress.sent = number_at<std::uint64_t>(object, "sent");
    progress.total = number_at<std::uint64_t>(object, "total");
    if (object.contains("estimate")) progress.estimate = number_at<std::uint64_t>(object, "estimate");
    return progress;
  } catch (const std::exception& error) {
    return fail("read", "the dump's progress", reason_of(error));
  }
}

std::string to_json(const KeptDump& kept) {
  return text_of(json{{"path", kept.there}, {"agent_path", kept.here}, {"size", kept.size}});
}

Result<std::string> kept_dump_from_json(std::string_view text) {
  try {
    return parse_bounded(text, kValues).at("path").get<std::string>();
  } catch (const std::exception& error) {
    return fail("read", "where the dump is", reason_of(error));
  }
}

}  // namespace farport::router
