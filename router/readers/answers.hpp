// What readers make of recordings.
#pragma once

#include <functional>

#include "events/lines.hpp"
#include "router/readers/reader_frames.hpp"
#include "router/readers/reading_request.hpp"

namespace farport::router {

// All of them throw std::bad_alloc.

/// Hands what comes, up to its end, to `handler`, and calls `after` for each piece. Errors: it is no
/// recording.
[[nodiscard]] Result<void> read_recording(ReaderInput& from, nettrace::Handler& handler,
                                          const std::function<void()>& after);

/// Has `maker` read what comes, up to its end, and says what it says. Errors: it is no recording, or not
/// enough of one.
[[nodiscard]] Result<void> make_lines(events::LineMaker& maker, ReaderInput& from, ReaderOutput& to);

/// Tells the values that `values` takes. Errors: as above.
[[nodiscard]] Result<void> tell_measurements(events::MeasurementReader& values, ReaderInput& from,
                                             ReaderOutput& to);

/// Tells the methods that are at given addresses. What comes is first the addresses, as a part, eight bytes
/// each (little-endian), and then a recording in which the runtime names its methods. Errors: it can't be
/// read.
[[nodiscard]] Result<void> tell_methods(ReaderInput& from, ReaderOutput& to);

/// What the agent wants made. Errors: there is no answer.
[[nodiscard]] Result<void> make_answer(const ReadingRequest& wanted, ReaderInput& from, ReaderOutput& to);

}  // namespace farport::router
