#include "router/symbol_files/symbol_server.hpp"

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "base/output_file.hpp"
#include "router/reach/command.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// The symbols of a browser engine are larger; those of a runtime are a fifth of it.
constexpr std::uint64_t kMostBytes = 512ULL << 20;
constexpr transport::Milliseconds kLimit{300'000};
constexpr std::size_t kPart = 64 * 1024;
/// A status behind the bytes of the file: "200".
constexpr off_t kStatusSize = 3;
/// What curl ends with where the server's status is an error (curl(1), "EXIT CODES").
constexpr int kHttpError = 22;
/// What a shell ends with where there is no such program (POSIX, Shell Command Language 2.8.2).
constexpr int kNotFound = 127;

/// What curl is to do, for its standard input: what is in the URL is nothing for the list of processes. By
/// then its own configuration has been left out. A redirection may not leave TLS. Whoever has sent less than
/// a kilobyte a second for ten seconds is as good as gone.
std::string curl_configuration(const std::string& url) {
  const bool is_secured = url.starts_with("https:");
  return fmt::format(
      "url = \"{}\"\ngloboff\nsilent\nshow-error\nfail\nlocation\nmax-redirs = 3\nproto = \"=http,https\"\n"
      "proto-redir = \"={}\"\nmax-filesize = {}\nconnect-timeout = 10\nspeed-limit = 1024\nspeed-time = 10\n"
      "write-out = \"%{{http_code}}\"\n",
      url, is_secured ? "https" : "http,https", kMostBytes);
}

std::string without_password(const std::string& url) {
  const std::size_t host = url.find("://") + 3;
  const std::size_t path = url.find('/', host);
  const std::size_t at = url.rfind('@', path);
  return at == std::string::npos || at < host ? url : url.substr(0, host) + url.substr(at + 1);
}

/// Takes the status from the end of what curl has printed.
std::string take_status(int file, std::uint64_t size) {
  std::string status(kStatusSize, '\0');
  const off_t end = static_cast<off_t>(size) - kStatusSize;
  if (end < 0 || ::pread(file, status.data(), status.size(), end) != kStatusSize) return {};
  return ::ftruncate(file, end) == 0 ? status : std::string();
}

/// One file on its way.
class Fetch {
 public:
  Fetch(Command& curl, std::string name, int to, SymbolServer::OnBytes on_bytes)
      : curl_(curl), name_(std::move(name)), to_(to), on_bytes_(std::move(on_bytes)) {}

  Task<Result<bool>> run(std::string configuration) {
    // One that does not read it says itself what is wrong.
    std::ignore = co_await curl_.stream().write_last(std::as_bytes(std::span<const char>(configuration)));
    const Result<void> written = co_await write_what_comes();
    if (!written) co_return tl::unexpected(written.error());
    const std::optional<int> code = co_await curl_.exit_code();
    const std::string status = take_status(to_, size_);
    if (code == 0 && status == "200") co_return true;
    if (code == kHttpError && (status == "404" || status == "410")) co_return false;
    if (code == kNotFound) {
      co_return fail("ask the symbol server", name_, "there is no curl", "install curl, or give --symbols");
    }
    const Error ended = co_await curl_.ended();
    co_return fail("ask the symbol server", name_,
                   code == 0 ? "it answers with status " + status : ended.why);
  }

 private:
  Task<Result<void>> write_what_comes() {
    std::vector<std::byte> part(kPart);
    for (;;) {
      const transport::Io got = co_await curl_.stream().read(part);
      if (got.status != IoStatus::ok) co_return Result<void>();
      size_ += got.bytes;
      if (size_ > kMostBytes) {
        co_return fail("ask the symbol server", name_,
                       fmt::format("a file has more than {} MiB", kMostBytes >> 20));
      }
      const int failed = write_whole(to_, std::span(part).first(got.bytes));
      if (failed != 0) co_return fail_errno("keep what comes from", name_, failed);
      on_bytes_(size_);
    }
  }

  Command& curl_;
  std::string name_;
  int to_;
  SymbolServer::OnBytes on_bytes_;
  std::uint64_t size_ = 0;
};

std::vector<std::string> curl_arguments() {
  return {"curl", "--disable", "--config", "-"};
}

}  // namespace

SymbolServer::SymbolServer(transport::Loop& loop, std::string url) : loop_(loop), url_(std::move(url)) {
  while (url_.ends_with('/')) url_.pop_back();
  name_ = without_password(url_);
}

Task<Result<bool>> SymbolServer::fetch(std::string path, int to, OnBytes on_bytes) {
  auto started = Command::start(loop_, make_silent_log(), curl_arguments());
  if (!started) co_return tl::unexpected(started.error());
  const std::shared_ptr<Command> curl = std::move(*started);
  Fetch fetch(*curl, name_, to, std::move(on_bytes));
  auto fetched = co_await with_deadline(loop_, fetch.run(curl_configuration(url_ + '/' + path)), kLimit);
  const bool whole = fetched && *fetched && **fetched;
  if (!whole && (::ftruncate(to, 0) != 0 || ::lseek(to, 0, SEEK_SET) != 0)) {
    co_return fail_errno("keep what comes from", name_, errno);
  }
  if (!fetched) co_return fail("ask the symbol server", name_, "it takes too long");
  co_return std::move(*fetched);
}

}  // namespace farport::router
