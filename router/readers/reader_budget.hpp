// How much memory all readers together may have, and who has how much of it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "router/readers/reader_process.hpp"
#include "transport/event.hpp"

namespace farport::router {

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
