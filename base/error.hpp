// Errors as values: what was tried, on what, why it failed, and what to do about it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace farport {

/// An expected failure. Every part is written for a person; `code` is for the program.
struct Error {
  std::string what;  ///< What was tried, as a verb phrase: "connect to", "read certificate".
  std::string on;    ///< The thing it was tried on: an address, a path, a runtime. May be empty.
  std::string why;   ///< The cause: "connection refused". Never empty.
  std::string hint;  ///< What to do about it, as an imperative. May be empty.
  int code = 0;      ///< errno value (positive) where the system gave one, else 0.

  /// One line: "cannot connect to 10.0.0.2:9000: connection refused; is farport serve running there?"
  [[nodiscard]] std::string message() const;
};

/// Room for an error that mostly never comes: a pointer's, where streams and connections are many.
class BoxedError {
 public:
  BoxedError& operator=(Error error);
  [[nodiscard]] explicit operator bool() const { return error_ != nullptr; }
  /// Without any: one that says nothing.
  [[nodiscard]] const Error& operator*() const;
  [[nodiscard]] const Error* operator->() const { return &**this; }

 private:
  std::unique_ptr<const Error> error_;
};

template <typename T>
using Result = tl::expected<T, Error>;

/// An unexpected value holding an Error, ready to be returned from a function that returns a Result.
[[nodiscard]] tl::unexpected<Error> fail(std::string_view what, std::string_view on, std::string_view why,
                                         std::string_view hint = {});

/// The same from an errno value (positive), whose system text becomes the cause.
[[nodiscard]] tl::unexpected<Error> fail_errno(std::string_view what, std::string_view on, int errno_value,
                                               std::string_view hint = {});

}  // namespace farport
