#include "cli/tool_process.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace farport::cli {
namespace {

std::vector<std::string> environment_with(const std::string& tmpdir) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "TMPDIR=", 7) != 0) environment.emplace_back(*entry);
  }
  environment.push_back("TMPDIR=" + tmpdir);
  return environment;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Where `dotnet tool install --global` puts tools, which is not always in PATH.
std::string in_dotnet_tools(const std::string& name) {
  const char* home = std::getenv("HOME");
  if (home == nullptr || name.find('/') != std::string::npos) return {};
  std::string path = std::string(home) + "/.dotnet/tools/" + name;
  return ::access(path.c_str(), X_OK) == 0 ? path : std::string();
}

}  // namespace

Result<std::unique_ptr<ToolProcess>> ToolProcess::start(transport::Loop& loop,
                                                        std::vector<std::string> arguments,
                                                        const std::string& tmpdir) {
  auto tool = std::make_unique<ToolProcess>(loop);
  std::vector<std::string> environment = environment_with(tmpdir);
  std::vector<char*> argv = pointers_to(arguments);
  std::vector<char*> envp = pointers_to(environment);
  std::array<uv_stdio_container_t, 3> stdio{};
  for (int fd = 0; fd < 3; ++fd) {
    stdio[static_cast<std::size_t>(fd)].flags = UV_INHERIT_FD;
    stdio[static_cast<std::size_t>(fd)].data.fd = fd;
  }
  uv_process_options_t options{};
  options.file = argv[0];
  options.args = argv.data();
  options.env = envp.data();
  options.stdio = stdio.data();
  options.stdio_count = static_cast<int>(stdio.size());
  options.exit_cb = [](uv_process_t* process, std::int64_t status, int signal) {
    auto* self = static_cast<ToolProcess*>(process->data);
    self->exit_code_ = signal != 0 ? kKilledBySignal + signal : static_cast<int>(status);
    self->ended_.set();
  };
  const auto spawn = [&] {
    auto* process = new uv_process_t;
    process->data = tool.get();
    const int result = uv_spawn(loop.uv(), process, &options);
    tool->process_.reset(process);
    return result;
  };
  int result = spawn();
  const std::string fallback = result == UV_ENOENT ? in_dotnet_tools(arguments[0]) : std::string();
  if (!fallback.empty()) {
    options.file = fallback.c_str();
    result = spawn();
  }
  if (result == 0) return tool;
  return fail_errno(
      "start", arguments[0], -result,
      result == UV_ENOENT ? "install it with: dotnet tool install --global " + arguments[0] : "");
}

transport::Task<int> ToolProcess::wait() {
  while (!exit_code_) co_await ended_.wait();
  co_return *exit_code_;
}

void ToolProcess::signal(int number) {
  uv_process_kill(process_.get(), number);
}

}  // namespace farport::cli
