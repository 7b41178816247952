// Errors as values: what was tried, on what, why it failed, and what to do about it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace farport {

/// A machine-readable cause of a failure: a number and its kind.
class Cause {
 public:
  enum class Kind : std::uint8_t { none, system, http, runtime, alert, silence };

  constexpr Cause() = default;
  /// An errno value, which most causes are. 0 or an invalid number, such as a negated one or an HRESULT made
  /// an int, means that the cause is unknown.
  constexpr explicit Cause(int errno_value)
      : kind_(errno_value > 0 && errno_value <= kMaxErrno ? Kind::system : Kind::none),
        value_(kind_ == Kind::none ? 0 : static_cast<std::uint32_t>(errno_value)) {}
  /// HRESULTs are unsigned; use runtime() for them.
  explicit Cause(std::uint32_t) = delete;
  /// A response's status (RFC 9110 section 15).
  [[nodiscard]] static constexpr Cause http(int status) {
    return {Kind::http, static_cast<std::uint32_t>(status)};
  }
  /// An alert that a TLS peer has sent (RFC 8446 section 6).
  [[nodiscard]] static constexpr Cause alert(int number) {
    return {Kind::alert, static_cast<std::uint32_t>(number)};
  }
  /// An HRESULT that a runtime has returned.
  [[nodiscard]] static constexpr Cause runtime(std::uint32_t hresult) { return {Kind::runtime, hresult}; }

  /// A runtime has not answered.
  [[nodiscard]] static constexpr Cause silence() { return {Kind::silence, 0}; }

  [[nodiscard]] constexpr Kind kind() const { return kind_; }
  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
  bool operator==(const Cause&) const = default;
  /// Whether it is this errno value.
  friend constexpr bool operator==(const Cause& cause, int errno_value) {
    return cause == Cause(errno_value);
  }

 private:
  static constexpr int kMaxErrno = 4095;  ///< Linux's MAX_ERRNO.

  constexpr Cause(Kind kind, std::uint32_t value) : kind_(kind), value_(value) {}

  Kind kind_ = Kind::none;
  std::uint32_t value_ = 0;
};

/// An expected failure. Every part is written for a person; `cause` is for the program.
struct Error {
  std::string what;    ///< What was tried, as a verb phrase: "connect to", "read certificate".
  std::string on;      ///< The thing it was tried on: an address, a path, a runtime. May be empty.
  std::string why;     ///< The cause: "connection refused". Never empty.
  std::string hint{};  ///< What to do about it, as an imperative. May be empty.
  Cause cause{};       ///< If it is known.

  /// One line: "cannot connect to 10.0.0.2:9000: connection refused; is farport serve running there?"
  [[nodiscard]] std::string message() const;
};

/// Holds an error that rarely occurs. It costs one pointer, which matters for objects that are many.
class BoxedError {
 public:
  BoxedError& operator=(Error error);
  [[nodiscard]] explicit operator bool() const { return error_ != nullptr; }
  /// An empty Error if none is set.
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

// Passing an error on. Each of these macros leaves the function that it stands in with the error of a Result,
// or of another tl::expected with a type of errors that the function's own converts from. They are several
// statements, so they need braces below an `if`.

/// ASSIGN_OR_RETURN(const auto size, read_size(path)): declares `size` with the value of the result.
#define ASSIGN_OR_RETURN(declaration, ...) FARPORT_ASSIGN_OR_(return, __LINE__, declaration, __VA_ARGS__)
/// RETURN_IF_ERROR(check(path)): for results whose value nobody needs, if they have one.
#define RETURN_IF_ERROR(...) FARPORT_LEAVE_IF_ERROR_(return, __VA_ARGS__)
/// The same in a coroutine, where the result may come from co_await.
#define CO_ASSIGN_OR_RETURN(declaration, ...) \
  FARPORT_ASSIGN_OR_(co_return, __LINE__, declaration, __VA_ARGS__)
#define CO_RETURN_IF_ERROR(...) FARPORT_LEAVE_IF_ERROR_(co_return, __VA_ARGS__)

#define FARPORT_ASSIGN_OR_(leave, number, declaration, ...) \
  FARPORT_ASSIGN_OR_NUMBERED_(leave, number, declaration, __VA_ARGS__)
#define FARPORT_ASSIGN_OR_NUMBERED_(leave, number, declaration, ...)              \
  auto result_##number = __VA_ARGS__;                                             \
  if (!result_##number) leave tl::unexpected(std::move(result_##number).error()); \
  declaration = *std::move(result_##number)
#define FARPORT_LEAVE_IF_ERROR_(leave, ...)                                         \
  do {                                                                              \
    auto result_to_check = __VA_ARGS__;                                             \
    if (!result_to_check) leave tl::unexpected(std::move(result_to_check).error()); \
  } while (false)
