// Resuming at the agent (docs/developers/wire.md, "Resuming"): answers that outlive their session, and the
// table of them.
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

/// An answer that outlives its session. When the session breaks, it waits for its mirror for the grace
/// period.
class ResumableResponse final : public Response {
 public:
  /// Only ResumptionTable calls this.
  ResumableResponse(ResumptionTable& table, std::string token, std::string owner,
                    std::shared_ptr<transport::Http2Stream> request);
  ~ResumableResponse() override;

  [[nodiscard]] const transport::MessageHead& request() const override { return request_; }
  [[nodiscard]] transport::Stream& stream() override { return stream_; }
  void send_head(int status, transport::HeaderFields fields, bool body) override;
  void count_kept(std::size_t bytes) override;
  [[nodiscard]] Progress progress() const override { return {stream_.write_waits(), stream_.acknowledged()}; }

  /// Waits until the mirror has the whole answer or won't come for it. Returns at once if the answer was not
  /// finished: there is nothing more to deliver then.
  transport::Task<void> delivered();
  /// Whether it waits for its mirror to come back.
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
  std::string token_;  ///< The key with which the next session resumes it.
  std::string owner_;  ///< The identity_key() of its caller: nobody else may resume it.
  transport::MessageHead request_;
  std::optional<Head> head_;
  transport::ResumableStream stream_;
  /// For what is kept besides the stream's own data; null for most.
  std::unique_ptr<transport::BufferBudget::LazyReservation> kept_;
  std::optional<transport::Deadline> grace_;
  bool expired_ = false;
  transport::Task<void> watching_carrier_;
};

/// All resumable answers of an agent.
class ResumptionTable {
 public:
  /// `grace` is how long an answer waits for its mirror. `budget` bounds what all answers keep meanwhile.
  ResumptionTable(transport::Loop& loop, Log log, transport::Milliseconds grace,
                  transport::BufferBudget& budget);
  ResumptionTable(const ResumptionTable&) = delete;
  ResumptionTable& operator=(const ResumptionTable&) = delete;

  /// Identifies this run of the agent: a new one at the same address can resume nothing.
  [[nodiscard]] const std::string& instance() const { return instance_; }

  /// Whether the caller wants to be able to resume the answer to this request.
  [[nodiscard]] static bool wanted(const transport::MessageHead& request);
  /// Begins a resumable answer. Takes `request` if it succeeds. Refusals: the token is malformed, or in use.
  [[nodiscard]] tl::expected<std::unique_ptr<ResumableResponse>, Refusal> begin(
      std::unique_ptr<transport::Http2Stream>& request, const Caller& caller);
  /// Continues an answer over `request`, which it takes if it succeeds. Refusals: there is no answer with
  /// this token, or not any more, or it is not the caller's.
  [[nodiscard]] std::optional<Refusal> resume(std::unique_ptr<transport::Http2Stream>& request,
                                              const std::string& token, const Caller& caller);
  /// Ends an answer that the mirror doesn't need any more. Returns false if there is none.
  bool end(const std::string& token, const Caller& caller);
  /// Ends the answers that wait for their mirror, since there will be no new session.
  void end_waiting(const Error& why);

  /// Runs a task that answers a request and may outlive its session.
  void spawn(transport::Task<void> task) { tasks_.spawn(std::move(task)); }
  /// Waits until there are no answers left.
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
  std::deque<std::string> over_;  ///< Tokens of answers that ended before their mirror came back.
  std::uint64_t resumed_ = 0;
  std::uint64_t expired_ = 0;
  transport::TaskSet tasks_;  ///< Last, since the tasks use all the members above.
};

}  // namespace farport::router
