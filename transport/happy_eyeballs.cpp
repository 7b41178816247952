#include "transport/happy_eyeballs.hpp"

#include <algorithm>
#include <optional>

#include <openssl/evp.h>

#include "base/text.hpp"
#include "transport/race.hpp"
#include "transport/stream.hpp"
#include "transport/task_set.hpp"

namespace farport::transport {
namespace {

struct Race {
  explicit Race(Loop& in) : loop(in), changed(in) {}

  Loop& loop;
  Event changed;
  std::size_t running = 0;
  std::optional<Connected> won;
  std::optional<Error> failure;
};

Task<void> attempt(Race& race, Address address, Milliseconds limit) {
  ++race.running;
  auto connection = co_await connect_tcp(race.loop, address, limit);
  --race.running;
  if (!connection && !race.failure) race.failure = connection.error();
  if (connection && !race.won) {
    race.won.emplace();
    race.won->stream = std::move(*connection);
    race.won->address = address;
  }
  race.changed.set();
}

}  // namespace

std::vector<Address> interleave_families(const std::vector<Address>& addresses) {
  std::vector<Address> left = addresses;
  std::vector<Address> turns;
  while (!left.empty()) {
    const auto other_family = [&](const Address& address) {
      return turns.empty() || address.storage.ss_family != turns.back().storage.ss_family;
    };
    auto next = std::find_if(left.begin(), left.end(), other_family);
    if (next == left.end()) next = left.begin();
    turns.push_back(*next);
    left.erase(next);
  }
  return turns;
}

Task<Result<Connected>> connect_any(Loop& loop, std::vector<Address> addresses, Milliseconds limit) {
  Race race(loop);
  TaskSet attempts(loop);
  for (const Address& address : addresses) {
    attempts.spawn(attempt(race, address, limit));
    if (!race.won) co_await with_deadline(loop, race.changed.wait(), kAttemptDelay);
    if (race.won) break;
  }
  while (!race.won && race.running > 0) co_await race.changed.wait();
  if (race.won) co_return std::move(*race.won);
  if (race.failure) co_return tl::unexpected(*race.failure);
  co_return fail("connect to", "an agent", "it has no address");
}

namespace {

/// Bytes of a proxy's answer head.
constexpr std::size_t kLongestHead = 64 * 1024;
constexpr int kProxyAuthenticationRequired = 407;

std::string base64(const std::string& text) {
  std::string encoded((text.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  encoded.resize(static_cast<std::size_t>(size));
  return encoded;
}

std::string request_for(const Proxy& proxy, const std::string& authority) {
  std::string request = "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n";
  if (!proxy.user_info.empty()) request += "Proxy-Authorization: Basic " + base64(proxy.user_info) + "\r\n";
  return request + "\r\n";
}

/// The status in "HTTP/1.1 200 Connection established" (RFC 9112 section 4); empty if the line is no status
/// line.
std::optional<int> status_of(std::string_view line) {
  if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[8] != ' ') return std::nullopt;
  return number_in<int>(line.substr(9, 3));
}

/// The proxy's text, shortened and made safe to print.
std::string printable(std::string_view text) {
  std::string shown(text.substr(0, 200));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

Error refused(const Proxy& proxy, const std::string& authority, std::string why, std::string hint = {}) {
  return Error{"reach", authority + " through the proxy " + proxy.text(), std::move(why), std::move(hint)};
}

Task<Result<void>> ask_for(FdStream& stream, const Proxy& proxy, std::string authority) {
  const std::string request = request_for(proxy, authority);
  const IoStatus sent = co_await stream.write(std::as_bytes(std::span(request)));
  if (sent != IoStatus::ok) co_return tl::unexpected(refused(proxy, authority, stream.error().why));
  const auto first = co_await read_line(stream, kLongestHead);
  const auto status = first ? status_of(*first) : std::nullopt;
  if (!status) co_return tl::unexpected(refused(proxy, authority, "it is no HTTP proxy"));
  LineFilter is_end = [](std::string_view line) { return line.empty() || line == "\r"; };
  const auto end = co_await read_to_line(stream, std::move(is_end), kLongestHead);
  if (!end) co_return tl::unexpected(refused(proxy, authority, "its answer is not a complete HTTP response"));
  // After 2xx the bytes belong to the tunnel (RFC 9110 section 9.3.6).
  if (*status / 100 == 2) co_return Result<void>();
  co_return tl::unexpected(refused(proxy, authority, "it answers " + printable(first->substr(9)),
                                   *status == kProxyAuthenticationRequired
                                       ? "name a user: http://NAME:PASSWORD@HOST:PORT"
                                       : "does it permit this destination?"));
}

Task<Result<std::unique_ptr<FdStream>>> connect_now(Loop& loop, Proxy proxy, std::string authority,
                                                    Milliseconds limit) {
  const auto addresses = co_await resolve(loop, proxy.host, proxy.port);
  if (!addresses)
    co_return tl::unexpected(refused(proxy, authority, addresses.error().why, addresses.error().hint));
  auto connected = co_await connect_any(loop, interleave_families(*addresses), limit);
  if (!connected)
    co_return tl::unexpected(refused(proxy, authority, connected.error().why, connected.error().hint));
  CO_RETURN_IF_ERROR(co_await ask_for(*connected->stream, proxy, std::move(authority)));
  co_return std::move(connected->stream);
}

}  // namespace

Task<Result<std::unique_ptr<FdStream>>> connect_through(Loop& loop, Proxy proxy, std::string host,
                                                        std::uint16_t port, Milliseconds limit) {
  std::string authority = farport::authority(host, port);
  auto connected = co_await with_deadline(loop, connect_now(loop, proxy, authority, limit), limit);
  if (!connected) co_return tl::unexpected(refused(proxy, authority, "it does not answer"));
  co_return std::move(*connected);
}

}  // namespace farport::transport
