#include "router/readers/reader_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <limits>
#include <new>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/resources.hpp"
#include "transport/race.hpp"

namespace farport::router {

ReadingRequest local_request(ReadingTask::Kind kind, std::string text) {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const std::uint64_t there = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  ReadingRequest request;
  request.kind = kind;
  request.memory_bytes = std::min(memory_limit().value_or(there), there) / 2;
  request.processor_seconds = std::numeric_limits<std::uint32_t>::max();
  request.text = std::move(text);
  return request;
}

namespace {

void run_reader(const ReaderWork& work, const ReadingRequest& wanted, int socket) {
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
  // Read to the end, so that a peer that still writes gets no error before it has read the answer.
  for (std::array<char, 4096> rest{}; ::read(socket, rest.data(), rest.size()) > 0;) {
  }
}

std::string encoded(const ReadingRequest& wanted) {
  const ReadingTask& task = wanted;
  return std::string(reinterpret_cast<const char*>(&task), sizeof task) + wanted.text;
}

/// Returns nothing if the bytes are no request.
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
    prefer_as_oom_victim();
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
    if (rights()) return run_reader(work, *wanted, socket);
    const ReaderWork no_work = [](const ReadingRequest&, ReaderInput&, ReaderOutput&) -> Result<void> {
      return fail(
          "read", "what the runtime says",
          "the kernel does not let a reader give up its rights (seccomp), and what it reads may be hostile",
          "set FARPORT_CONFINE=off to read it anyway");
    };
    run_reader(no_work, *wanted, socket);
  };
  ASSIGN_OR_RETURN(auto process, HelperProcess::start({kReaderName, std::move(confine), std::move(run)}));
  return ReaderProcess(std::move(process));
}

Result<ReaderEnds> ReaderProcess::begin(const ReadingRequest& wanted) const {
  ASSIGN_OR_RETURN(auto sockets, make_socket_pair(SOCK_STREAM));
  if (::fcntl(sockets.ours.get(), F_SETFL, O_NONBLOCK) != 0)
    return fail_errno("make", "a pair of sockets", errno);
  const std::string bytes = encoded(wanted);
  if (bytes.size() > HelperProcess::kMaxRequest)
    return fail("start", "a reader", "the request is too large", "request less at once");
  ASSIGN_OR_RETURN(auto lifeline, process_.begin(bytes, {sockets.theirs.get()}));
  return ReaderEnds{std::move(sockets.ours), std::move(lifeline)};
}

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr transport::Milliseconds kWait{30'000};
constexpr std::chrono::seconds kBaseProcessorTime{60};

}  // namespace

std::uint64_t memory_for_readers() {
  return std::clamp(memory_for_helpers(), 8 * kMiB, 1024 * kMiB);
}

std::uint64_t ReaderBudget::share_of(ReadingTask::Kind kind) const {
  // A profile holds its memory for as long as sampling takes, so it gets no more than lines do.
  const bool document = ReadingTask{kind}.makes_document() && kind != ReadingTask::Kind::profile;
  if (document) return std::min(total_ / 2, 256 * kMiB);
  // It has a table of all types.
  if (kind == ReadingTask::Kind::heap_events) return std::clamp(total_ / 4, 4 * kMiB, 64 * kMiB);
  // There is a reader of these kinds for each runtime.
  const bool of_each = kind == ReadingTask::Kind::metrics || kind == ReadingTask::Kind::incidents;
  if (of_each) return std::clamp(total_ / 256, kMiB / 2, 4 * kMiB);
  return std::clamp(total_ / 8, 2 * kMiB, 64 * kMiB);
}

ReaderBudget::Place::Place(ReaderBudget& budget, std::string owner, std::optional<uid_t> user,
                           std::uint64_t bytes)
    : budget_(budget), owner_(std::move(owner)), user_(user), bytes_(bytes), needed_(budget.loop_) {
  budget_.places_.push_back(this);
}

ReaderBudget::Place::~Place() {
  std::erase(budget_.places_, this);
  budget_.returned_.changed();
}

bool ReaderBudget::has_room(const std::string& owner, std::uint64_t bytes) const {
  std::uint64_t all = bytes;
  std::uint64_t theirs = bytes;
  for (const Place* const each : places_) {
    all += each->bytes_;
    if (each->owner_ == owner) theirs += each->bytes_;
  }
  return all <= total_ && theirs <= total_ / 2;
}

std::uint64_t ReaderBudget::has(const std::string& owner, uid_t user) const {
  std::uint64_t bytes = 0;
  for (const Place* const each : places_) {
    if (each->owner_ == owner && each->user_ == user) bytes += each->bytes_;
  }
  return bytes;
}

bool ReaderBudget::is_before(const std::string& owner, uid_t user) const {
  const std::uint64_t own = has(owner, user);
  return std::ranges::any_of(waiting_, [&](const Owner& each) {
    return each.name == owner && each.user && has(owner, *each.user) < own;
  });
}

/// Asks the owner for a place of the user who has most, if this user has less and would have no more. It is
/// the oldest one, of which a session is most likely to have begun: that can be ended at any time.
void ReaderBudget::ask_back(const std::string& owner, uid_t user, std::uint64_t bytes) {
  std::map<uid_t, std::uint64_t> all;
  for (const Place* const each : places_) {
    if (each->owner_ != owner || !each->user_) continue;
    // One is on its way back.
    if (each->is_needed_) return;
    all[*each->user_] += each->bytes_;
  }
  const auto most = std::ranges::max_element(all, {}, [](const auto& each) { return each.second; });
  if (most == all.end() || most->second < all[user] + 2 * bytes) return;
  const auto oldest = std::ranges::find_if(
      places_, [&](const Place* each) { return each->owner_ == owner && each->user_ == most->first; });
  (*oldest)->is_needed_ = true;
  (*oldest)->needed_.set();
}

class ReaderBudget::Waiting {
 public:
  Waiting(ReaderBudget& budget, std::string owner, std::optional<uid_t> user)
      : budget_(budget),
        place_(budget.waiting_.insert(budget.waiting_.end(), Owner{std::move(owner), user})) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    budget_.waiting_.erase(place_);
    budget_.returned_.changed();
  }

 private:
  ReaderBudget& budget_;
  std::list<Owner>::iterator place_;
};

transport::Task<std::unique_ptr<ReaderBudget::Place>> ReaderBudget::take(std::string owner,
                                                                         std::uint64_t bytes,
                                                                         std::optional<uid_t> user) {
  const auto may_have = [&] { return has_room(owner, bytes) && (!user || !is_before(owner, *user)); };
  if (!may_have()) {
    const Waiting waiting(*this, owner, user);
    const transport::Deadline limit(loop_, kWait, [this] { returned_.changed(); });
    while (!may_have()) {
      if (limit.expired()) co_return nullptr;
      if (user) ask_back(owner, *user, bytes);
      co_await returned_.wait();
    }
  }
  co_return std::make_unique<Place>(*this, std::move(owner), user, bytes);
}

transport::Task<Result<std::unique_ptr<ReaderBudget::Place>>> Readers::place_for(
    ReadingTask::Kind kind, std::string owner, std::optional<uid_t> user) const {
  if (!running())
    co_return fail("read", "what the runtime writes", "the agent's process that starts readers has ended",
                   "start the agent again");
  auto place = co_await memory->take(std::move(owner), memory->share_of(kind), user);
  if (place == nullptr)
    co_return fail("read", "what the runtime writes",
                   "other recordings that are read at the moment use all of the memory for this",
                   "try again in a while, or raise the agent's memory limit");
  co_return place;
}

std::uint32_t processor_seconds_for(transport::Milliseconds duration) {
  return static_cast<std::uint32_t>(
      (kBaseProcessorTime + std::chrono::floor<std::chrono::seconds>(duration) / 2).count());
}

}  // namespace farport::router
