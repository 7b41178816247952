#include "router/agent/admin/http1_connection.hpp"

#include <array>
#include <ctime>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include <boost/beast/http/status.hpp>

#include "router/wire/http_status.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

constexpr std::size_t kRequestPieceBytes = 2048;

std::string_view reason_of(int status) {
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  return {reason.data(), reason.size()};
}

/// The date in the format of RFC 9110 section 5.6.7. Its names are English, since the program sets no locale.
std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, sizeof "Sun, 06 Nov 1994 08:49:37 GMT"> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), size};
}

/// The status line and the header fields (RFC 9112 section 4).
std::string head_of(const Http1Answer& answer, bool keep_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", answer.status, reason_of(answer.status));
  head += fmt::format("Date: {}\r\n", date_now());
  head += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", answer.content_type, answer.body.size());
  head += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
  if (answer.status == http_status::kMethodNotAllowed) head += "Allow: GET, HEAD\r\n";
  if (!keep_alive) head += "Connection: close\r\n";
  return head + "\r\n";
}

}  // namespace

Task<void> Http1Connection::serve() {
  for (bool goes_on = true; goes_on;) {
    const bool begun = co_await begins();
    if (!begun) co_return;
    const std::optional<bool> read = co_await with_deadline(stream_.loop(), read_request(), patience_.head);
    const bool ended = read.has_value() && !*read;
    if (ended || (!read && !parser_.begun())) co_return;
    if (!read) {
      goes_on = co_await refuse(http_status::kRequestTimeout);
    } else if (state_ == Http1Parser::State::wrong) {
      goes_on = co_await refuse(parser_.status());
    } else {
      goes_on = co_await answer_request();
    }
  }
  co_await leave();
}

/// Waits for the first byte of a request. Returns false if none comes in time.
Task<bool> Http1Connection::begins() {
  if (!unread_.empty()) co_return true;
  const bool came = co_await with_deadline(stream_.loop(), stream_.readable(), patience_.idle);
  co_return came;
}

/// Reads to the end of a request, or to an error in it. Returns false if the peer ends first.
Task<bool> Http1Connection::read_request() {
  std::array<std::byte, kRequestPieceBytes> piece{};
  for (;;) {
    std::string_view rest = unread_;
    state_ = parser_.feed(rest);
    unread_.erase(0, unread_.size() - rest.size());
    if (state_ != Http1Parser::State::more) co_return true;
    const transport::Io got = co_await stream_.read(piece);
    if (got.status != IoStatus::ok) co_return false;
    unread_.append(reinterpret_cast<const char*>(piece.data()), got.bytes);
  }
}

/// Returns whether the connection goes on after this, as do the next two functions.
Task<bool> Http1Connection::answer_request() {
  co_await share_.turn();
  std::string text;
  const bool keep_alive = parser_.request().keep_alive;
  {
    const transport::Work work(share_);
    const Http1Answer answer = answerer_(parser_.request());
    text = head_of(answer, keep_alive);
    // The length is that of GET, but there is no body (RFC 9110 section 9.3.2).
    if (parser_.request().method != "HEAD") text += answer.body;
  }
  const bool sent = co_await send(std::move(text));
  co_return sent&& keep_alive;
}

Task<bool> Http1Connection::refuse(int status) {
  const Http1Answer answer{status, std::string(reason_of(status)) + "\n"};
  std::ignore = co_await send(head_of(answer, false) + answer.body);
  co_return false;
}

Task<bool> Http1Connection::send(std::string text) {
  const std::optional<bool> sent =
      co_await with_deadline(stream_.loop(), write(std::move(text)), patience_.answer);
  co_return sent.value_or(false);
}

Task<bool> Http1Connection::write(std::string text) {
  const IoStatus written = co_await stream_.write(std::as_bytes(std::span(text)));
  co_return written == IoStatus::ok;
}

/// Half-closes, and discards what the peer still sends: closing at once would reset the connection, and the
/// peer might lose the answer.
Task<void> Http1Connection::leave() {
  const IoStatus finished = co_await stream_.finish();
  if (finished != IoStatus::ok) co_return;
  std::ignore = co_await with_deadline(stream_.loop(), stream_.discard(), patience_.linger);
}

}  // namespace farport::router
