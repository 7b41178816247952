// Running commands that lead to `farport stdio`, up to its greeting.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "router/reach/deploy.hpp"
#include "router/reach/reach.hpp"

namespace farport::router {

/// The line that `farport stdio` prints before the session, to tell it from output of shells and servers. The
/// number is the version of this protocol, not of farport.
inline constexpr std::string_view kGreeting = "farport-stdio 1";

/// Directory of the agent's socket in a helper container, which has a /tmp of its own.
inline constexpr const char* kHelperDirectory = "/tmp/farport";
inline constexpr const char* kHelperSocket = "/tmp/farport/stdio.sock";
/// Appends the arguments with which farport is started there.
void append_helper_words(std::vector<std::string>& command, std::chrono::milliseconds linger);
/// How long a helper may take to answer.
inline constexpr transport::Milliseconds kHelperPatience{30'000};

struct StdioCommand {
  std::string text;                    ///< The text by which a person names the target.
  std::vector<std::string> arguments;  ///< The first is the program, which is looked for in PATH.
  /// The program to send if it is asked for (deploy.hpp); null: nothing.
  std::shared_ptr<const StaticProgram> program{};
  /// Called before that with what is to be sent, for people; empty if there is no program.
  std::function<void(const std::string&)> announce{};
  /// The hint for a container without a shell; empty if no shell is needed.
  std::string without_shell{};
  /// How long to wait for the greeting. The default leaves time to type a password.
  transport::Milliseconds patience{120'000};
};

/// Starts the command and reads up to the greeting. Errors include the last line that it printed.
transport::Task<Result<Reached>> open_stdio(transport::Loop& loop, Log log, StdioCommand what);

}  // namespace farport::router
