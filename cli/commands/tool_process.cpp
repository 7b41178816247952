#include "cli/commands/tool_process.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace farport::cli {
namespace {

using transport::ChildProcess;

std::vector<std::string> environment_with(const std::string& tmpdir) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "TMPDIR=", 7) != 0) environment.emplace_back(*entry);
  }
  environment.push_back("TMPDIR=" + tmpdir);
  return environment;
}

/// Where `dotnet tool install --global` puts tools, which is not always in PATH.
std::string in_dotnet_tools(const std::string& name) {
  const char* home = std::getenv("HOME");
  if (home == nullptr || name.find('/') != std::string::npos) return {};
  std::string path = std::string(home) + "/.dotnet/tools/" + name;
  return ::access(path.c_str(), X_OK) == 0 ? path : std::string();
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> start_tool(transport::Loop& loop, std::vector<std::string> arguments,
                                                 const std::string& tmpdir) {
  const std::string name = arguments.front();
  const std::vector<std::string> environment = environment_with(tmpdir);
  auto tool = ChildProcess::start(loop, {arguments, environment});
  const bool missing = !tool && tool.error().cause == ENOENT;
  const std::string elsewhere = missing ? in_dotnet_tools(name) : std::string();
  if (!elsewhere.empty()) {
    arguments.front() = elsewhere;
    tool = ChildProcess::start(loop, {arguments, environment});
  }
  if (!tool && tool.error().cause == ENOENT) {
    return fail_errno("start", name, ENOENT, "install it with: dotnet tool install --global " + name);
  }
  return tool;
}

}  // namespace farport::cli
