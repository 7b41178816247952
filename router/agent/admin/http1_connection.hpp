// Http1Connection: the server's end of an HTTP/1.1 connection whose answers are small.
#pragma once

#include <functional>
#include <string>

#include "router/agent/admin/http1_parser.hpp"
#include "transport/share.hpp"
#include "transport/stream.hpp"

namespace farport::router {

struct Http1Answer {
  int status = 0;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

/// How long a peer may take for each step.
struct Http1Patience {
  transport::Milliseconds idle{120'000};   ///< To begin a request.
  transport::Milliseconds head{10'000};    ///< To send the head, once it has begun.
  transport::Milliseconds answer{10'000};  ///< To take the answer.
  transport::Milliseconds linger{1'000};   ///< To close its side, once the agent has closed its own.
};

class Http1Connection {
 public:
  using Answerer = std::function<Http1Answer(const Http1Request&)>;

  /// All arguments must outlive this object. `share` is the part of the loop's time for all such connections.
  Http1Connection(transport::Stream& stream, transport::Share& share, const Http1Patience& patience,
                  const Answerer& answerer)
      : stream_(stream), share_(share), patience_(patience), answerer_(answerer) {}
  Http1Connection(const Http1Connection&) = delete;
  Http1Connection& operator=(const Http1Connection&) = delete;

  /// Answers one request after the other until the peer ends, breaks a rule or is too slow. Destroy the
  /// stream afterwards.
  transport::Task<void> serve();

 private:
  transport::Task<bool> begins();
  transport::Task<bool> read_request();
  transport::Task<bool> answer_request();
  transport::Task<bool> refuse(int status);
  transport::Task<bool> send(std::string text);
  transport::Task<bool> write(std::string text);
  transport::Task<void> leave();

  transport::Stream& stream_;
  transport::Share& share_;
  const Http1Patience& patience_;
  const Answerer& answerer_;
  Http1Parser parser_;
  Http1Parser::State state_ = Http1Parser::State::more;
  std::string unread_;  ///< Bytes of the next request that have come already.
};

}  // namespace farport::router
