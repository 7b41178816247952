#include "router/reach/named_reach.hpp"

#include <algorithm>

#include "base/reach_scheme.hpp"
#include "base/text.hpp"
#include "router/reach/container.hpp"
#include "router/reach/deploy.hpp"
#include "router/reach/pods.hpp"
#include "router/reach/stdio_command.hpp"

namespace farport::router {
namespace {

using transport::Task;

class ShellReach final : public Reach {
 public:
  explicit ShellReach(const std::string& command) : Reach(command) {}

  [[nodiscard]] Task<Result<Reached>> open(transport::Loop& loop, Log log) const override {
    StdioCommand what{text(), arguments()};
    auto reached = co_await open_stdio(loop, std::move(log), std::move(what));
    co_return reached;
  }

 private:
  // With exec, as ssh does for ProxyCommand, so that no shell is left that would have to be ended too.
  [[nodiscard]] std::vector<std::string> arguments() const { return {"/bin/sh", "-c", "exec " + text()}; }
};

}  // namespace

Result<std::shared_ptr<const ReachTarget>> reach_of(const std::string& text, Deploy deploy) {
  const std::string scheme(reach_scheme(text));
  // The containers' schemes are the names of programs.
  if (scheme.empty()) {
    return fail("reach", text, "there is no such scheme",
                "write ssh://HOST, podman://CONTAINER, docker://CONTAINER or k8s://POD");
  }
  const std::string rest = text.substr(scheme.size() + 3);
  if (deploy.image.starts_with('-')) return fail("use the image", deploy.image, "that is no image's name");
  if (scheme == "ssh") return ssh_reach(text, rest, std::move(deploy));
  if (scheme == "k8s") return kubernetes_target(text, rest, std::move(deploy));
  return container_reach(text, scheme, rest, std::move(deploy));
}

std::shared_ptr<const ReachTarget> reach_by_shell(const std::string& command) {
  return std::make_shared<ShellReach>(command);
}

namespace {

/// Whether the text is letters, digits and characters of `more`, without a leading dash. Such a word is
/// harmless where ssh's configuration puts it into a shell command, such as ProxyCommand.
bool is_word(std::string_view text, std::string_view more) {
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter_or_digit(c) || more.find(c) != std::string_view::npos;
  });
}

class SshReach final : public Reach {
 public:
  SshReach(std::string text, SshTarget target, Deploy deploy)
      : Reach(std::move(text)), target_(std::move(target)), deploy_(std::move(deploy)) {}

  [[nodiscard]] Task<Result<Reached>> open(transport::Loop& loop, Log log) const override {
    StdioCommand what{text(), {}, nullptr, deploy_.announce};
    std::string command = "exec farport stdio";
    if (deploy_.way != Deploy::Way::never) {
      auto program = co_await deploy_.program->load(loop);
      // Without the program, an installed farport may still do.
      if (!program && deploy_.way == Deploy::Way::copy) co_return tl::unexpected(program.error());
      if (program) {
        what.program = std::move(*program);
        command =
            "exec sh -c '" + deploy_script(*what.program, deploy_, deploy_.way != Deploy::Way::copy) + "'";
      }
    }
    what.arguments = arguments(std::move(command));
    auto reached = co_await open_stdio(loop, std::move(log), std::move(what));
    co_return reached;
  }

 private:
  [[nodiscard]] std::vector<std::string> arguments(std::string command) const {
    std::vector<std::string> all{"ssh", "-T"};
    if (!target_.port.empty()) all.insert(all.end(), {"-p", target_.port});
    all.insert(all.end(), {"--", target_.host, std::move(command)});
    return all;
  }

  SshTarget target_;
  Deploy deploy_;
};

}  // namespace

std::optional<SshTarget> parse_ssh_target(std::string_view text) {
  SshTarget target;
  const std::size_t at = text.rfind('@');
  std::string_view user = at == std::string_view::npos ? "" : text.substr(0, at);
  std::string_view host = at == std::string_view::npos ? text : text.substr(at + 1);
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && !host.ends_with(']')) {
    target.port = host.substr(colon + 1);
    host = host.substr(0, colon);
    if (target.port.empty() || target.port.find_first_not_of("0123456789") != std::string::npos)
      return std::nullopt;
  }
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!is_word(host, bracketed ? ".:%-_" : ".-_")) return std::nullopt;
  if (at != std::string_view::npos && !is_word(user, ".-_+@")) return std::nullopt;
  target.host = user.empty() ? std::string(host) : std::string(user).append("@").append(host);
  return target;
}

Result<std::shared_ptr<const Reach>> ssh_reach(std::string text, std::string_view target, Deploy deploy) {
  auto parsed = parse_ssh_target(target);
  if (!parsed) {
    return fail("reach", text, "that is no host",
                "write ssh://HOST, ssh://USER@HOST:PORT or ssh://[ADDRESS]:PORT");
  }
  if (deploy.way == Deploy::Way::ephemeral) {
    return fail("reach", text, "there is no container beside which another could be", "use --deploy copy");
  }
  return std::make_shared<SshReach>(std::move(text), std::move(*parsed), std::move(deploy));
}

}  // namespace farport::router
