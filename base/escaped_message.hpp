// A part of spdlog's patterns.
#pragma once

#include <memory>

#include <spdlog/pattern_formatter.h>

#include "base/escape.hpp"

namespace farport {

/// %* in a pattern: the message as one line that no terminal obeys. The audit may share standard error with
/// it, and what peers and runtimes put into a message must not look like a line of that.
class EscapedMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    escape_into(out, {message.payload.data(), message.payload.size()});
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<EscapedMessage>();
  }
};

}  // namespace farport
