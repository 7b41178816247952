// Readers: processes that turn what a runtime writes into an answer.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "profile/form.hpp"
#include "router/helpers/helper_process.hpp"
#include "router/readers/reader_frames.hpp"
#include "transport/event.hpp"

namespace farport::router {

/// The part of a ReadingRequest that has a fixed size.
struct ReadingTask {
  enum class Kind : std::uint8_t {
    counters,
    logs,
    exceptions,
    stacks,
    heap,         ///< The types in it.
    objects,      ///< All of its objects, as a .gcdump file.
    heap_events,  ///< What the runtime reports of it, as it comes: there is room for a heap of any size.
    profile,      ///< From samples, which come as a part, and methods as the runtime names them.
    metrics,
    methods,    ///< Of methods at given addresses, which come as a part.
    joined,     ///< One recording of several: see join_recordings().
    incidents,  ///< Log entries and exceptions that fit patterns.
    local,      ///< Whatever the command that has started the reader needs.
  };
  Kind kind{};
  std::uint64_t memory_bytes = 0;  ///< In addition to what every reader has.
  std::uint32_t processor_seconds = 0;
  profile::Form form{};   ///< For `profile`: the form of the file.
  std::uint64_t pid = 0;  ///< For `profile`: the process's pid as it says itself.

  /// Whether the answer is one document, which is whole or worth nothing.
  [[nodiscard]] bool makes_document() const {
    return kind == Kind::stacks || kind == Kind::heap || kind == Kind::objects || kind == Kind::profile ||
           kind == Kind::joined;
  }
};

/// What a reader is to make, and what it may use up.
struct ReadingRequest : ReadingTask {
  std::string text{};  ///< `counters`, `metrics`: their names; `incidents`: the patterns; `heap`, `objects`,
                       ///< `profile`: the process's name.
};

/// A request of a command on its user's machine: it may use half of the memory, and any processor time.
[[nodiscard]] ReadingRequest local_request(ReadingTask::Kind kind, std::string text = {});

/// What a reader does: makes an answer from its input. Errors: there is no answer. Throws std::bad_alloc.
using ReaderWork =
    std::function<Result<void>(const ReadingRequest& wanted, ReaderInput& from, ReaderOutput& to)>;

/// The other end of a reader.
struct ReaderEnds {
  UniqueFd socket;  ///< Takes what the runtime writes, and delivers frames; does not block.
  Lifeline lifeline;
};

/// The helper process that starts readers. A runtime may write anything; whatever it makes a reader do only
/// ends that one recording.
class ReaderProcess {
 public:
  /// What the helper and its readers give up, in this order.
  struct GivenUp {
    std::function<void()> secrets;
    std::function<void()> rights;
    std::function<bool()> rights_of_reader;  ///< Run in each reader. If it returns false, nothing is read.
    bool behind_others = true;               ///< Run at low priority, behind the runtimes that are read.
  };
  /// Starts the helper, before this process has threads. Each reader runs `work` as it is now. Errors: the
  /// helper can't be started.
  [[nodiscard]] static Result<ReaderProcess> start(GivenUp given_up, ReaderWork work);

  [[nodiscard]] const HelperProcess& process() const { return process_; }

  /// Starts a reader. Errors: it can't be started.
  [[nodiscard]] Result<ReaderEnds> begin(const ReadingRequest& wanted) const;

 private:
  explicit ReaderProcess(HelperProcess process) : process_(std::move(process)) {}

  HelperProcess process_;
};

/// The memory that all readers together may use. A control group that runs out of memory may be killed as a
/// whole, with the agent (memory.oom.group, which Kubernetes sets since 1.28), so this is less than the
/// group's limit.
class ReaderBudget {
 public:
  /// `total` is for all readers together, in bytes.
  ReaderBudget(transport::Loop& loop, std::uint64_t total) : loop_(loop), total_(total), returned_(loop) {}
  ReaderBudget(const ReaderBudget&) = delete;
  ReaderBudget& operator=(const ReaderBudget&) = delete;

  /// How much a reader of this kind needs. Documents need more than lines that are sent as they come.
  [[nodiscard]] std::uint64_t share_of(ReadingTask::Kind kind) const;

  /// A reservation of memory, until it is destroyed.
  class Place {
   public:
    Place(ReaderBudget& budget, std::string owner, std::optional<uid_t> user, std::uint64_t bytes);
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// Set when another user's runtime needs it: end the reader, and destroy this. For one waiter.
    [[nodiscard]] transport::Event& needed() { return needed_; }

   private:
    friend class ReaderBudget;
    ReaderBudget& budget_;
    std::string owner_;
    std::optional<uid_t> user_;
    std::uint64_t bytes_;
    bool is_needed_ = false;
    transport::Event needed_;
  };

  /// Reserves memory for this owner, who may have half of the total at most. Waits for it, but not for long.
  /// Returns nullptr if there is not enough. An owner who reads the runtimes of many users names this one's:
  /// each user has an equal part of what the owner has, as far as it is wanted, so a user who has most may
  /// have to give some back.
  transport::Task<std::unique_ptr<Place>> take(std::string owner, std::uint64_t bytes,
                                               std::optional<uid_t> user = std::nullopt);

  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  /// For whom memory is reserved, or waited for.
  struct Owner {
    std::string name;
    std::optional<uid_t> user;
  };
  /// Who waits, as long as it exists.
  class Waiting;
  [[nodiscard]] bool has_room(const std::string& owner, std::uint64_t bytes) const;
  /// What the runtimes of this user have of the owner's.
  [[nodiscard]] std::uint64_t has(const std::string& owner, uid_t user) const;
  /// Whether a user waits who has less.
  [[nodiscard]] bool is_before(const std::string& owner, uid_t user) const;
  void ask_back(const std::string& owner, uid_t user, std::uint64_t bytes);

  transport::Loop& loop_;
  std::uint64_t total_;
  std::vector<Place*> places_;
  std::list<Owner> waiting_;
  transport::Condition returned_;
};

/// What it takes to start readers: the helper, and memory.
struct Readers {
  std::shared_ptr<const ReaderProcess> process;  ///< Null if there is no helper.
  ReaderBudget* memory;                          ///< Never null.

  [[nodiscard]] bool running() const { return process != nullptr && process->process().running(); }
  /// Reserves memory for a reader that `owner` wants, of a runtime of this user (see ReaderBudget::take()).
  /// Waits for it, but not for long. Errors: there is not enough memory, or the helper has ended.
  [[nodiscard]] transport::Task<Result<std::unique_ptr<ReaderBudget::Place>>> place_for(
      ReadingTask::Kind kind, std::string owner, std::optional<uid_t> user = std::nullopt) const;
};

/// The processor time for a recording of this length: a minute plus half of the length.
[[nodiscard]] std::uint32_t processor_seconds_for(transport::Milliseconds duration);

/// The memory for all readers of an agent: a quarter of what its control group allows.
[[nodiscard]] std::uint64_t memory_for_readers();

}  // namespace farport::router
