// Resuming at the mirror: a request whose answer goes on in the next session when the one in which it was
// sent breaks (docs/wire.md, "Resuming").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "router/mirror/session_manager.hpp"
#include "transport/resumable_stream.hpp"

namespace farport::router {

class ResumableRequest {
 public:
  /// Sends a POST in the session that there is, or in the next one if there is none within the grace period.
  /// The request's body is written to stream(), and its answer's read from there.
  ResumableRequest(SessionManager& sessions, std::string path, transport::HeaderFields fields = {});
  ResumableRequest(const ResumableRequest&) = delete;
  ResumableRequest& operator=(const ResumableRequest&) = delete;
  /// Tells the agent that nobody is interested any more, if it may not know.
  ~ResumableRequest();

  [[nodiscard]] transport::ResumableStream& stream() { return stream_; }
  /// Passes when the answer's head has come, or never will (failed): stream().error() says why.
  transport::Task<transport::IoStatus> head_received();
  [[nodiscard]] const transport::MessageHead& head() const { return *head_; }
  /// Whether its last session is not the one in use any more: its agent wants no more of it, or it is over.
  [[nodiscard]] bool agent_stopped() const {
    return carried_in_ != nullptr && carried_in_ != sessions_.session();
  }

 private:
  /// How a try to get the answer in a session ended.
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
  bool begun_ = false;                        ///< An agent may know of it.
  std::shared_ptr<AgentSession> begun_in_;    ///< Knows which agent, by now or soon.
  std::shared_ptr<AgentSession> carried_in_;  ///< The last one in which it was answered.
  std::vector<std::string> tokens_;           ///< One of which the agent knows it by, the likeliest first.
  std::optional<transport::Deadline> grace_;
  RequestPace::Turn turn_;
  std::optional<transport::Deadline> turn_limit_;  ///< How long the agent's rate may keep it waiting.
  transport::Task<void> keeping_;                  ///< Last: it uses the rest.
};

}  // namespace farport::router
