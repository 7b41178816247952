// Readers: processes that make an answer of what a runtime writes. A runtime may write anything; whatever it
// makes a reader do, it is one recording that ends.
#pragma once

#include "router/helpers/helper_process.hpp"
#include "router/readers/reader_frames.hpp"
#include "router/readers/reading_request.hpp"

namespace farport::router {

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

}  // namespace farport::router
