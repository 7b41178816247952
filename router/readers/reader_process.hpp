// Readers: processes that make an answer of what a runtime writes. A runtime may write anything; whatever it
// makes a reader do, it is one recording that ends.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "profile/form.hpp"
#include "router/helpers/helper_process.hpp"
#include "router/readers/reader_frames.hpp"
#include "transport/event.hpp"

namespace farport::router {

// What a reader is to make of a recording.

/// The part of a ReadingRequest that has a fixed size.
struct ReadingTask {
  enum class Kind : std::uint8_t {
    counters,
    logs,
    exceptions,
    stacks,
    heap,
    profile,  ///< Of samples, which are a part, and methods as the runtime tells them.
    metrics,
    methods,  ///< At addresses, which are a part, as the runtime tells them.
    local,    ///< What the command does that has started the reader.
  };
  Kind kind{};
  std::uint64_t memory_bytes = 0;  ///< Beside what every reader has.
  std::uint32_t processor_seconds = 0;
  profile::Form form{};   ///< `profile`: what it becomes.
  std::uint64_t pid = 0;  ///< `profile`: the process's, as it says itself.

  /// Whether the answer is one that is there whole or not at all.
  [[nodiscard]] bool makes_document() const {
    return kind == Kind::stacks || kind == Kind::heap || kind == Kind::profile;
  }
};

/// What a reader is to make, and what it may use for it.
struct ReadingRequest : ReadingTask {
  std::string text{};  ///< `counters`, `metrics`: which, as a request names them; `heap`, `profile`: the
                       ///< process's name.
};

/// Of a command's, on the machine of whoever has started it: with half of the memory that there is, and as
/// long as it takes.
[[nodiscard]] ReadingRequest local_request(ReadingTask::Kind kind, std::string text = {});

/// What a reader does: makes the answer of what comes. Errors: there is none. Throws std::bad_alloc.
using ReaderWork =
    std::function<Result<void>(const ReadingRequest& wanted, ReaderInput& from, ReaderOutput& to)>;

/// A reader, as it is talked to.
struct ReaderEnds {
  UniqueFd socket;  ///< What a runtime writes goes there, and frames come back; doesn't block.
  Lifeline lifeline;
};

class ReaderProcess {
 public:
  /// What whoever starts them gives up, in this order, and what each of them does.
  struct GivenUp {
    std::function<void()> secrets;
    std::function<void()> rights;
    std::function<bool()> rights_of_reader;  ///< False: that can't be, and nothing is read.
    bool behind_others = true;  ///< The processor is for others first: for those that are read, for one.
  };
  /// Starts what starts them, before this process has threads. `work`: as it is then. Errors: there can be
  /// none.
  [[nodiscard]] static Result<ReaderProcess> start(GivenUp given_up, ReaderWork work);

  [[nodiscard]] const HelperProcess& process() const { return process_; }

  /// Starts a reader. Errors: there can be none.
  [[nodiscard]] Result<ReaderEnds> begin(const ReadingRequest& wanted) const;

 private:
  explicit ReaderProcess(HelperProcess process) : process_(std::move(process)) {}

  HelperProcess process_;
};

// How much memory all readers together may have, and who has how much of it.

/// A control group that runs out of memory may be ended as a whole, the agent with it (memory.oom.group, as
/// Kubernetes has it since 1.28): so what readers may have, in all, is known and less than there is.
class ReaderBudget {
 public:
  /// `total`: bytes, for all.
  ReaderBudget(transport::Loop& loop, std::uint64_t total) : loop_(loop), total_(total), returned_(loop) {}
  ReaderBudget(const ReaderBudget&) = delete;
  ReaderBudget& operator=(const ReaderBudget&) = delete;

  /// What one reader's answer may take: one document, or lines that are sent as they come.
  [[nodiscard]] std::uint64_t share_of(ReadingTask::Kind kind) const;

  /// So many bytes, until it is gone.
  class Place {
   public:
    Place(ReaderBudget& budget, std::string owner, std::uint64_t bytes);
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

   private:
    ReaderBudget& budget_;
    std::string owner_;
    std::uint64_t bytes_;
  };

  /// Waits until there are so many bytes for this owner, who may have half of all at once, but not for long.
  /// Nullptr: there are none.
  transport::Task<std::unique_ptr<Place>> take(std::string owner, std::uint64_t bytes);

  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  [[nodiscard]] bool has_room(const std::string& owner, std::uint64_t bytes) const;

  transport::Loop& loop_;
  std::uint64_t total_;
  std::uint64_t taken_ = 0;
  std::map<std::string, std::uint64_t> taken_by_;
  transport::Condition returned_;
};

/// Where readers come from, and their memory.
struct Readers {
  std::shared_ptr<const ReaderProcess> process;  ///< Null: there can be none.
  ReaderBudget* memory;                          ///< Never null.

  [[nodiscard]] bool running() const { return process != nullptr && process->process().running(); }
  /// The memory that a reader may have for what `owner` wants. Waits for it, but not for long. Errors: there
  /// is none.
  [[nodiscard]] transport::Task<Result<std::unique_ptr<ReaderBudget::Place>>> place_for(
      ReadingTask::Kind kind, std::string owner) const;
};

/// Processor time for a recording of this length: a minute, and half of that.
[[nodiscard]] std::uint32_t processor_seconds_for(transport::Milliseconds duration);

/// For all readers of an agent: a quarter of what its control group allows.
[[nodiscard]] std::uint64_t memory_for_readers();

}  // namespace farport::router
