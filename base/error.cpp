#include "base/error.hpp"

#include <cstring>

namespace farport {

std::string Error::message() const {
  std::string text = "cannot " + what;
  if (!on.empty()) text += " " + on;
  text += ": " + why;
  if (!hint.empty()) text += "; " + hint;
  return text;
}

tl::unexpected<Error> fail(std::string_view what, std::string_view on, std::string_view why,
                           std::string_view hint) {
  return tl::unexpected<Error>(
      Error{std::string(what), std::string(on), std::string(why), std::string(hint)});
}

tl::unexpected<Error> fail_errno(std::string_view what, std::string_view on, int errno_value,
                                 std::string_view hint) {
  return tl::unexpected<Error>(Error{std::string(what), std::string(on), std::strerror(errno_value),
                                     std::string(hint), Cause(errno_value)});
}

BoxedError& BoxedError::operator=(Error error) {
  error_ = std::make_unique<const Error>(std::move(error));
  return *this;
}

const Error& BoxedError::operator*() const {
  static const Error none;
  return error_ == nullptr ? none : *error_;
}

}  // namespace farport
