// Resuming at the agent: answers that outlive the session in which they were asked for, and the table in
// which the next session finds them (docs/wire.md, "Resuming").
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "router/agent/connections/response.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/wire/http_status.hpp"
#include "transport/resumable_stream.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

namespace farport::router {

class ResumptionTable;

/// Waits for its mirror, for as long as the grace period lasts, when the session that carries it breaks.
class ResumableResponse final : public Response {
 public:
  /// For ResumptionTable.
  ResumableResponse(ResumptionTable& table, std::string token, std::string owner,
                    std::shared_ptr<transport::Http2Stream> request);
  ~ResumableResponse() override;

  [[nodiscard]] const transport::MessageHead& request() const override { return request_; }
  [[nodiscard]] transport::Stream& stream() override { return stream_; }
  void send_head(int status, transport::HeaderFields fields, bool body) override;

  /// Passes when the mirror has all of an answer that has been written to its end, or won't come for it. An
  /// answer that was broken off has no more to deliver.
  transport::Task<void> delivered();
  /// Whether it waits for its mirror.
  [[nodiscard]] bool waits() const { return stream_.waits(); }

 private:
  friend class ResumptionTable;
  struct Head {
    int status;
    transport::HeaderFields fields;
    bool body;
  };

  bool resume(std::shared_ptr<transport::Http2Stream> request, std::uint64_t received, std::uint64_t from);
  transport::Task<void> watch_carrier();

  ResumptionTable& table_;
  std::string token_;  ///< The next session's key to it.
  std::string owner_;  ///< Whose it is: nobody else resumes it.
  transport::MessageHead request_;
  std::optional<Head> head_;
  transport::ResumableStream stream_;
  std::optional<transport::Deadline> grace_;
  bool expired_ = false;
  transport::Task<void> watching_carrier_;
};

class ResumptionTable {
 public:
  /// `grace`: how long an answer waits for its mirror. `budget`: bounds what all answers keep meanwhile.
  ResumptionTable(transport::Loop& loop, Log log, transport::Milliseconds grace,
                  transport::BufferBudget& budget);
  ResumptionTable(const ResumptionTable&) = delete;
  ResumptionTable& operator=(const ResumptionTable&) = delete;

  /// Tells this agent from those before and after it at the same address: nothing outlives a restart.
  [[nodiscard]] const std::string& instance() const { return instance_; }

  /// Whether the caller wants to be able to resume the answer to this request.
  [[nodiscard]] static bool wanted(const transport::MessageHead& request);
  /// The answer to such a request, which is taken then. Refusals: the token is malformed, or there is such an
  /// answer already.
  [[nodiscard]] tl::expected<std::unique_ptr<ResumableResponse>, Refusal> begin(
      std::unique_ptr<transport::Http2Stream>& request, const Caller& caller);
  /// Carries an answer on over `request`, which is taken then. Refusals: there is none with this token, or no
  /// more, or not the caller's.
  [[nodiscard]] std::optional<Refusal> resume(std::unique_ptr<transport::Http2Stream>& request,
                                              const std::string& token, const Caller& caller);
  /// The mirror needs it no more. False: there is none.
  bool end(const std::string& token, const Caller& caller);
  /// Ends those whose mirror is away: no session will come for them.
  void end_waiting(const Error& why);

  /// Runs what answers, for longer than the session.
  void spawn(transport::Task<void> task) { tasks_.spawn(std::move(task)); }
  /// Passes when there are no more answers.
  transport::Task<void> idle() { return tasks_.idle(); }
  void clear() { tasks_.clear(); }

  [[nodiscard]] std::size_t size() const { return responses_.size(); }
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] std::uint64_t resumed() const { return resumed_; }
  [[nodiscard]] std::uint64_t expired() const { return expired_; }

 private:
  friend class ResumableResponse;
  static constexpr std::size_t kRemembered = 4096;

  void forget(ResumableResponse& answer);
  [[nodiscard]] Refusal unknown(const std::string& token) const;

  transport::Loop& loop_;
  Log log_;
  transport::Milliseconds grace_;
  transport::BufferBudget& budget_;
  std::string instance_;
  std::map<std::string_view, ResumableResponse*> responses_;  ///< By their tokens.
  std::deque<std::string> over_;  ///< Tokens of answers that no command came for in time.
  std::uint64_t resumed_ = 0;
  std::uint64_t expired_ = 0;
  transport::TaskSet tasks_;  ///< Last: they use the rest.
};

}  // namespace farport::router
