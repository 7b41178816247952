#include "router/agent/connections/answer.hpp"

#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "router/wire/http_status.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// Bytes written at once. An answer that nobody reads keeps that much, and there may be thousands of them.
constexpr std::size_t kPiece = 4096;
/// Looks after a reader's progress until it is taken for idle.
constexpr int kIdleLooks = 3;
/// Bytes that reading files takes for one answer: a window to decompress them, and two buffers.
constexpr std::size_t kFileBytes = std::size_t{512} * 1024;
/// The same for a recording: a buffer, and what the kernel keeps in three sockets of which nobody reads.
constexpr std::size_t kRecordingBytes = std::size_t{384} * 1024;
/// Seconds after which there may be a place for another one.
constexpr int kUntilRecording = 10;

/// Appends items with commas between them until there is a piece to write. Returns whether there are more.
bool append_items(std::string& piece, bool& first, const AppendItem& append_item) {
  while (piece.size() < kPiece) {
    const std::size_t before = piece.size();
    if (!first) piece += ',';
    if (!append_item(piece)) {
      piece.resize(before);
      return false;
    }
    first = false;
  }
  return true;
}

Task<transport::Semaphore::Place> taken(transport::Semaphore& from) {
  auto place = co_await from.take();
  co_return std::move(place);
}

}  // namespace

Answer::IdleWatch::IdleWatch(transport::Loop& loop, Response& carrier) : Timer(loop), carrier_(carrier) {
  start(kLongestIdle / kIdleLooks);
}

void Answer::IdleWatch::on_time() {
  const Response::Progress progress = carrier_.progress();
  const bool is_idle = progress.waits && progress.taken == std::exchange(taken_, progress.taken);
  looks_ = is_idle ? looks_ + 1 : 0;
  if (looks_ < kIdleLooks) return start(kLongestIdle / kIdleLooks);
  carrier_.stream().abort(
      Error{"send to", "the caller", "nothing was read for 30 s", "read the answer as it comes"});
}

void Answer::begin(transport::HeaderFields fields) {
  idle_ = std::make_unique<IdleWatch>(carrier_.stream().loop(), carrier_);
  carrier_.send_head(http_status::kOk, std::move(fields), true);
}

void Answer::begin_connection(transport::HeaderFields fields) {
  carrier_.send_head(http_status::kOk, std::move(fields), true);
}

Task<void> Answer::text(std::string type, transport::HeaderFields more, std::function<std::string()> make) {
  co_await account_.time.turn();
  std::string body;
  {
    const transport::Work work(account_.time);
    body = make();
  }
  carrier_.count_kept(body.size());
  more.emplace_back("content-type", std::move(type));
  more.emplace_back("content-length", std::to_string(body.size()));
  begin(std::move(more));
  // The answer ends here even if the write fails.
  std::ignore = co_await carrier_.stream().write_last(std::as_bytes(std::span(body)));
}

Task<void> Answer::json(std::function<std::string()> make) {
  return text(kJson, {}, std::move(make));
}

Task<void> Answer::array(transport::HeaderFields more, AppendItem append_item) {
  more.emplace_back("content-type", kJson);
  begin(std::move(more));
  std::string piece = "[";
  for (bool goes_on = true, first = true; goes_on;) {
    co_await account_.time.turn();
    {
      const transport::Work work(account_.time);
      goes_on = append_items(piece, first, append_item);
    }
    if (!goes_on) piece += ']';
    carrier_.count_kept(piece.capacity());
    const auto bytes = std::as_bytes(std::span(piece));
    if (!goes_on) {
      std::ignore = co_await carrier_.stream().write_last(bytes);
      co_return;
    }
    const IoStatus written = co_await carrier_.stream().write(bytes);
    if (written != IoStatus::ok) co_return;
    piece.clear();
  }
}

Task<IoStatus> Answer::event(std::string line) {
  const IoStatus written = co_await carrier_.stream().write(std::as_bytes(std::span(line)));
  co_return written;
}

tl::expected<CountedSlot, Refusal> Answer::place_for_recording() {
  if (*account_.recordings >= AnswerAccount::kRecordings)
    return tl::unexpected(Refusal{
        http_status::kTooManyRequests, ipc::hresult::kBusy,
        fmt::format("you have {} recordings under way already; end one of them", AnswerAccount::kRecordings),
        kUntilRecording});
  carrier_.count_kept(kRecordingBytes);
  return CountedSlot(account_.recordings);
}

Task<std::optional<FilePlace>> Answer::place_for_files() {
  auto place = co_await first_of(taken(account_.files), carrier_.stream().gone());
  if (!place) co_return std::nullopt;
  carrier_.count_kept(kFileBytes);
  co_return FilePlace(std::move(*place));
}

}  // namespace farport::router
