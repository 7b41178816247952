// How the two sides agree that a body is zstd (RFC 9110 sections 8.4 and 12.5.3, RFC 8878 section 7.2).
#pragma once

#include "router/wire/session_options.hpp"
#include "transport/http2/stream.hpp"

namespace farport::router {

/// What a request says of the encodings that its answer may have.
[[nodiscard]] inline transport::HeaderFields accepted_encodings(const SessionOptions& options) {
  transport::HeaderFields fields;
  if (options.compression != Compression::never) fields.emplace_back("accept-encoding", "zstd");
  return fields;
}

/// Whether a list of encodings has zstd, and does not refuse it: "gzip, ZSTD;q=0.5", but not "zstd;q=0".
[[nodiscard]] bool accepts_zstd(std::string_view encodings);

/// Whether the answer to a request shall be zstd.
[[nodiscard]] inline bool wants_zstd(const transport::MessageHead& request, Compression mode) {
  return mode != Compression::never && accepts_zstd(request.field("accept-encoding"));
}

/// What such an answer says of itself.
inline void add_zstd(transport::HeaderFields& answer) {
  answer.emplace_back("content-encoding", "zstd");
}

/// Whether an answer is zstd.
[[nodiscard]] inline bool is_zstd(const transport::MessageHead& answer) {
  return answer.field("content-encoding") == "zstd";
}

}  // namespace farport::router
