// Sending what is kept, in memory or on the disk, as the answer to a request.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/artifacts/compressed_file.hpp"
#include "router/agent/connections/answer.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/wire/http_status.hpp"
#include "transport/stream.hpp"
#include "transport/task.hpp"

namespace farport::router {

/// The refusal of a request with this HTTP status.
[[nodiscard]] Refusal not_sent(int status, std::string why);

/// The refusal of what the sampler could not do.
[[nodiscard]] Refusal not_sampled(const Error& why);

/// The refusal of an agent without a directory for what it keeps.
[[nodiscard]] Refusal keeps_nothing();

/// Reads a compressed file, from its beginning, on another thread, for an answer that has this place.
[[nodiscard]] NextPiece pieces_of_file(
    transport::Loop& loop, const FilePlace& place, std::shared_ptr<const UniqueFd> file,
    CompressedFileReader::CutOff cut_off = CompressedFileReader::CutOff::error);

/// Sends all pieces to a caller, and then the end, and counts their bytes in `sent`.
transport::Task<Result<void>> send_all(NextPiece next, Answer& answer, std::uint64_t& sent);

/// Notes what has come of sending, for the audit. If it failed, the answer is broken off.
void note_outcome(const Result<void>& sent, Answer& answer, AuditEntry& entry);

}  // namespace farport::router
