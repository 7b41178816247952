// IncidentPattern: log entries or exceptions that somebody waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "events/exceptions.hpp"
#include "events/logs.hpp"
#include "ipc/event_pipe.hpp"
#include "nettrace/reader.hpp"

namespace farport::router {

struct IncidentPattern {
  enum class Of : std::uint8_t { logs, exceptions };
  Of of = Of::logs;
  std::vector<std::string> names;                          ///< Globs of categories or types; empty: all.
  events::LogLevel level = events::LogLevel::information;  ///< Of logs: the lowest.
  std::string text;                                        ///< What a message has in it; empty: anything.

  [[nodiscard]] bool fits(const events::LogEntry& entry) const;
  [[nodiscard]] bool fits(const events::ThrownException& thrown) const;
};

/// For a reader.
[[nodiscard]] std::string to_json(const std::vector<IncidentPattern>& patterns);
[[nodiscard]] Result<std::vector<IncidentPattern>> patterns_from_json(std::string_view text);

/// What a runtime of this version ("10.0.1") has to record.
[[nodiscard]] ipc::CollectTracing wanted_incidents(const std::vector<IncidentPattern>& patterns,
                                                   std::string_view version);

/// What has fitted one of the patterns since the last time.
struct Incident {
  std::size_t pattern = 0;  ///< Its place in the list.
  std::uint64_t count = 0;
  std::string text;  ///< The last one, for people: "Error Orders.Pricing: no price".
};
[[nodiscard]] std::string to_json(const Incident& incident);
[[nodiscard]] Result<Incident> incident_from_json(std::string_view text);

/// Finds in events what fits the patterns.
class IncidentReader final : public nettrace::Handler {
 public:
  explicit IncidentReader(std::vector<IncidentPattern> patterns);

  void on_trace(const nettrace::TraceHeader& trace) override { trace_ = trace; }
  void on_event(const nettrace::Event& event) override;
  /// What has fitted since the last call.
  [[nodiscard]] std::vector<Incident> take();

 private:
  template <typename Seen>
  void note(const Seen& seen, std::string_view text);

  std::vector<IncidentPattern> patterns_;
  std::vector<Incident> found_;  ///< One for each pattern.
  nettrace::TraceHeader trace_;
};

}  // namespace farport::router
