#include "transport/http2/heads.hpp"

#include <cstdlib>

namespace farport::transport {
namespace {

/// A head that is so many times too large ends the session.
constexpr std::size_t kEndlessHead = 16;
/// Requests and answers of our own have no more.
constexpr std::size_t kUsualFields = 4;
/// Requests that are handed out before others get their turn.
constexpr std::size_t kRequestsPerFeed = 16;

}  // namespace

nghttp2_nv header_field(std::string_view name, std::string_view value, std::uint8_t flags) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(), flags};
}

std::vector<nghttp2_nv> header_list(std::initializer_list<nghttp2_nv> first, const HeaderFields& fields) {
  std::vector<nghttp2_nv> list;
  list.reserve(first.size() + fields.size());
  list.assign(first);
  for (const auto& [name, value] : fields) {
    // Our own hold what no other message will: they would only push others out of the peer's table.
    const bool own = name.starts_with("farport-");
    list.push_back(header_field(name, value, own ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE));
  }
  return list;
}

void Http2Heads::begin(std::unique_ptr<Http2Stream> request) {
  receiving_ = std::move(request);
  bytes_ = 0;
}

int Http2Heads::add_field(MessageHead& head, std::string_view name, std::string_view value) {
  bytes_ += name.size() + value.size();
  if (bytes_ > most_) {
    head.too_large = true;
    head.fields.clear();
    // A peer that goes on and on wants no answer.
    return bytes_ > kEndlessHead * most_ ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
  }
  if (name == ":method") {
    head.method = value;
  } else if (name == ":path") {
    head.path = value;
  } else if (name == ":authority") {
    head.authority = value;
  } else if (name == ":status") {
    head.status = std::atoi(std::string(value).c_str());
  } else if (!name.starts_with(':')) {
    if (head.fields.empty()) head.fields.reserve(kUsualFields);
    head.fields.emplace_back(name, value);
  }
  // The rest when those that are there have been handed out.
  paused_ = requests_.size() >= kRequestsPerFeed;
  return paused_ ? NGHTTP2_ERR_PAUSE : 0;
}

}  // namespace farport::transport
