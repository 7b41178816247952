// IncidentPattern: log entries, exceptions or requests that somebody waits for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "events/exceptions.hpp"
#include "events/logs.hpp"
#include "events/requests.hpp"
#include "ipc/event_pipe.hpp"
#include "nettrace/reader.hpp"
#include "router/recordings/path_glob.hpp"

namespace farport::router {

struct IncidentPattern {
  enum class Of : std::uint8_t { logs, exceptions, requests };
  Of of = Of::logs;
  std::vector<std::string> names;  ///< Globs of categories, types or paths; empty: all.
  events::LogLevel level = events::LogLevel::information;  ///< Of logs: the lowest.
  std::string text;                                        ///< What a message has in it; empty: anything.
  // Of requests:
  std::vector<std::string> except;  ///< Globs of paths that don't count.
  /// The lowest and the highest code of answers that count. None: all, and requests count as they begin.
  std::vector<std::pair<int, int>> statuses;
  /// Requests count if there is no answer for longer than this, even before there is one.
  std::optional<std::chrono::milliseconds> slower_than;

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
  std::uint64_t count = 0;  ///< 0 for the first request, if it does not fit: the application has such.
  std::string text;         ///< The last one, for people: "Error Orders.Pricing: no price".
  std::string near{};       ///< What was seen first that does not fit, but nearly: a type, or a request.
};
[[nodiscard]] std::string to_json(const Incident& incident);
[[nodiscard]] Result<Incident> incident_from_json(std::string_view text);

/// The paths of a pattern's requests.
struct RequestPaths {
  std::vector<PathGlob> wanted;  ///< None: all.
  std::vector<PathGlob> except;

  [[nodiscard]] bool have(std::string_view path) const;
};

/// Finds in events what fits the patterns.
class IncidentReader final : public nettrace::Handler {
 public:
  using Clock = std::chrono::steady_clock;

  explicit IncidentReader(std::vector<IncidentPattern> patterns);

  void on_trace(const nettrace::TraceHeader& trace) override { trace_ = trace; }
  void on_event(const nettrace::Event& event) override;
  /// What has fitted up to `now` since the last call.
  [[nodiscard]] std::vector<Incident> take(Clock::time_point now);
  /// Whether time alone may make something fit.
  [[nodiscard]] bool awaits() const;
  /// Somebody else's session has another argument for the runtime's one source of requests, so that none are
  /// told here any more.
  [[nodiscard]] bool silenced() const { return silenced_; }

 private:
  /// A request without an answer.
  struct Open {
    Clock::time_point since;
    std::string text;
    std::vector<std::size_t> patterns;  ///< For which it may become too slow.
  };

  template <typename Seen>
  void note(const Seen& seen, std::string_view text);
  void note(std::size_t pattern, std::string_view text);
  void note_near(const events::ThrownException& thrown);
  void note_near(std::size_t pattern, std::string_view text);
  void take_request(const events::RequestEvent& request);
  void note_begun(std::string span, std::string text, const std::vector<std::size_t>& fitting);
  void note_ended(const events::RequestEvent& request, const std::vector<std::size_t>& fitting);
  void note_unheard();
  /// Whether there is room for one more.
  bool make_room();

  std::vector<IncidentPattern> patterns_;
  std::vector<RequestPaths> paths_;  ///< Of each pattern.
  std::vector<Incident> found_;      ///< One for each pattern.
  std::set<std::size_t> near_;       ///< Patterns that something was near to.
  nettrace::TraceHeader trace_;
  bool has_requests_ = false;         ///< One was seen,
  bool told_ = false;                 ///< and that was told.
  std::map<std::string, Open> open_;  ///< By span.
  unsigned unheard_ = 0;              ///< Requests that were not told, though they should have been,
  Clock::time_point unheard_since_{};
  bool silenced_ = false;
};

}  // namespace farport::router
