// What an agent says of itself and of us, in answer to GET /v1/agent.
#pragma once

#include <string>

#include "router/wire/diagnosis.hpp"

namespace farport::cli {

/// Who we are to an agent. It is the agent's text: bounded, not escaped.
struct Introduction {
  std::string version;
  std::string identity;
  std::string roles;  ///< With commas between them; empty: we have none.
};

/// Reads the answer. Errors: it is no such answer.
[[nodiscard]] Result<Introduction> introduction_in(const std::string& body);

/// Whether the agent is of our version. `agent`: what it is called.
[[nodiscard]] router::Diagnosis diagnosis_of_version(const std::string& agent, const std::string& version);

/// Whether we may do anything there.
[[nodiscard]] router::Diagnosis diagnosis_of_access(const Introduction& introduction);

}  // namespace farport::cli
