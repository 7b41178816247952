// ResumableRequest: a request that continues in the next session when its session breaks
// (docs/developers/wire.md, "Resuming").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "router/mirror/session_manager.hpp"
#include "transport/resumable_stream.hpp"

namespace farport::router {

class ResumableRequest {
 public:
  /// Sends a POST in the current session, or in the next one within the grace period. Write the request's
  /// body to stream() and read the answer's body from it.
  ResumableRequest(SessionManager& sessions, std::string path, transport::HeaderFields fields = {});
  ResumableRequest(const ResumableRequest&) = delete;
  ResumableRequest& operator=(const ResumableRequest&) = delete;
  /// Tells the agent, if it may not know, that the request was dropped.
  ~ResumableRequest();

  [[nodiscard]] transport::ResumableStream& stream() { return stream_; }
  /// Waits for the answer's head: ok, or failed if it will never come; stream().error() then says why.
  transport::Task<transport::IoStatus> head_received();
  [[nodiscard]] const transport::MessageHead& head() const { return *head_; }
  /// Whether the session that carried it last is no longer in use, because its agent wants no more requests
  /// or it ended.
  [[nodiscard]] bool agent_stopped() const {
    return last_session_ != nullptr && last_session_ != sessions_.session();
  }
  /// Whether `session` is the one that carried it last.
  [[nodiscard]] bool was_carried_by(const AgentSession* session) const {
    return session != nullptr && last_session_.get() == session;
  }

 private:
  /// The outcome of one attempt to get the answer in a session.
  enum class Outcome { attached, connection_lost, not_found, refused, finished };

  transport::Task<void> keep();
  transport::Task<Outcome> ask(std::shared_ptr<AgentSession> session);
  transport::Task<Outcome> begin(std::shared_ptr<AgentSession> session);
  transport::Task<Outcome> resume(AgentSession& session, std::string token);
  transport::Task<Outcome> attach(std::shared_ptr<transport::Http2Stream> carrier, bool first);
  transport::Task<Outcome> outcome_of(std::shared_ptr<transport::Http2Stream> carrier);
  void limit_waiting();
  void limit_turn();
  void refused(transport::Milliseconds pause);
  [[nodiscard]] Error broken(std::string why) const;

  SessionManager& sessions_;
  std::string path_;
  transport::HeaderFields fields_;
  transport::ResumableStream stream_;
  transport::Event head_event_;
  std::optional<transport::MessageHead> head_;
  bool begun_ = false;                           ///< An agent may know of the request.
  std::shared_ptr<AgentSession> first_session_;  ///< In which it was sent; knows the agent by now or soon.
  std::shared_ptr<AgentSession> last_session_;   ///< The last session in which it was answered.
  std::vector<std::string> tokens_;  ///< Tokens that the agent may know it by, the likeliest first.
  std::optional<transport::Deadline> grace_;
  RequestPace::Turn turn_;
  std::optional<transport::Deadline> turn_limit_;  ///< How long the agent's rate limit may delay it.
  transport::Task<void> keeping_;                  ///< Last: it uses all other members.
};

}  // namespace farport::router
