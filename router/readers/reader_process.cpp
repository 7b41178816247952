#include "router/readers/reader_process.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/resources.hpp"

namespace farport::router {
namespace {

void be_reader(const ReaderWork& work, const ReadingRequest& wanted, int socket) {
  ReaderInput from(socket);
  ReaderOutput to(socket);
  try {
    const Result<void> made = work(wanted, from, to);
    if (made) {
      to.write(ReaderFrame::end);
    } else {
      to.write(ReaderFrame::failure, encode_failure(made.error()));
    }
  } catch (const std::bad_alloc&) {
    to.write(ReaderFrame::memory);
  } catch (const std::exception& error) {
    to.write(ReaderFrame::failure, encode_failure({"read", "what the runtime says", error.what(), {}}));
  }
  // Whoever still writes gets no error before this has been read.
  for (std::array<char, 4096> rest{}; ::read(socket, rest.data(), rest.size()) > 0;) {
  }
}

std::string encoded(const ReadingRequest& wanted) {
  const ReadingTask& task = wanted;
  return std::string(reinterpret_cast<const char*>(&task), sizeof task) + wanted.text;
}

/// None where they are none.
std::optional<ReadingRequest> decoded(std::string_view bytes) {
  ReadingTask task;
  if (bytes.size() < sizeof task) return std::nullopt;
  std::memcpy(&task, bytes.data(), sizeof task);
  return ReadingRequest{task, std::string(bytes.substr(sizeof task))};
}

void go_behind_others() {
  constexpr int kBehindOthers = 10;
  std::ignore = ::setpriority(PRIO_PROCESS, 0, kBehindOthers);
}

}  // namespace

Result<ReaderProcess> ReaderProcess::start(GivenUp given_up, ReaderWork work) {
  std::function<void()> confine = [secrets = std::move(given_up.secrets), rights = std::move(given_up.rights),
                                   behind = given_up.behind_others] {
    secrets();
    be_ended_first();
    if (behind) go_behind_others();
    rights();
  };
  auto run = [rights = std::move(given_up.rights_of_reader), work = std::move(work)](
                 std::string_view request, const std::vector<UniqueFd>& descriptors) {
    const auto wanted = decoded(request);
    if (!wanted || descriptors.size() != 1) return;
    limit_processor_time(wanted->processor_seconds);
    limit_memory(wanted->memory_bytes);
    const int socket = descriptors.front().get();
    if (rights()) return be_reader(work, *wanted, socket);
    const ReaderWork no_work = [](const ReadingRequest&, ReaderInput&, ReaderOutput&) -> Result<void> {
      return fail(
          "read", "what the runtime says",
          "the kernel does not let a reader give up its rights (seccomp), and what it reads may be hostile",
          "FARPORT_CONFINE=off has it read all the same");
    };
    be_reader(no_work, *wanted, socket);
  };
  auto process = HelperProcess::start({kReaderName, std::move(confine), std::move(run)});
  if (!process) return tl::unexpected(process.error());
  return ReaderProcess(std::move(*process));
}

Result<ReaderEnds> ReaderProcess::begin(const ReadingRequest& wanted) const {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("make", "a pair of sockets", errno);
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK) != 0) return fail_errno("make", "a pair of sockets", errno);
  const std::string bytes = encoded(wanted);
  if (bytes.size() > HelperProcess::kMostRequest)
    return fail("start", "a reader", "too much is asked of it", "ask for less at once");
  auto lifeline = process_.begin(bytes, {theirs.get()});
  if (!lifeline) return tl::unexpected(lifeline.error());
  return ReaderEnds{std::move(ours), std::move(*lifeline)};
}

}  // namespace farport::router
