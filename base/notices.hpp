// What a command says that runs beside a tool which has the terminal.
#pragma once

#include "base/log.hpp"

namespace farport {

/// A logger that writes "farport: MESSAGE" to stderr: errors, until its level is set to warnings.
[[nodiscard]] Log make_notices();

}  // namespace farport
