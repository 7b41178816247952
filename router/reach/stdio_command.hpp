// Commands that lead to `farport stdio`, from their start to its greeting.
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

/// What `farport stdio` says before the session begins, so that what shells and servers print before it is
/// told apart from it.
/// A line of its own. The number is that of this agreement, and not of farport.
inline constexpr std::string_view kGreeting = "farport-stdio 1";

/// Where the agent of a helper container has its socket: in a /tmp of its own.
inline constexpr const char* kHelperDirectory = "/tmp/farport";
inline constexpr const char* kHelperSocket = "/tmp/farport/stdio.sock";
/// What farport is started with there.
void append_helper_words(std::vector<std::string>& command, std::chrono::milliseconds linger);
/// How long it may take to answer.
inline constexpr transport::Milliseconds kHelperPatience{30'000};

struct StdioCommand {
  std::string text;                    ///< What a person calls it.
  std::vector<std::string> arguments;  ///< The first is the program, looked for in PATH.
  /// What it is sent where it asks for it (deploy_script.hpp); null: nothing.
  std::shared_ptr<const StaticProgram> program{};
  /// Called before that with what is to be sent, for people; empty where there is no program.
  std::function<void(const std::string&)> announce{};
  /// What to do where it leads into a container that has no shell; empty where it needs none.
  std::string without_shell{};
  /// How long to wait for the greeting. The default leaves time to type a password.
  transport::Milliseconds patience{120'000};
};

/// Starts the command and reads to the greeting. Errors say what it has printed last.
transport::Task<Result<Reached>> open_stdio(transport::Loop& loop, Log log, StdioCommand what);

}  // namespace farport::router
