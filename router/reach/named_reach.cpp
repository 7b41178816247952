#include "router/reach/named_reach.hpp"

#include "router/reach/container.hpp"
#include "router/reach/kubernetes.hpp"
#include "router/reach/ssh.hpp"
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

Result<std::shared_ptr<const ReachTarget>> single(const Result<std::shared_ptr<const Reach>>& way) {
  if (!way) return tl::unexpected(way.error());
  return single_way(*way);
}

}  // namespace

Result<std::shared_ptr<const ReachTarget>> reach_of(const std::string& text, Deploy deploy) {
  const std::size_t scheme_end = text.find("://");
  const std::string scheme = text.substr(0, scheme_end);
  const std::string rest = scheme_end == std::string::npos ? "" : text.substr(scheme_end + 3);
  if (deploy.image.starts_with('-')) return fail("use the image", deploy.image, "that is no image's name");
  if (scheme == "ssh") return single(ssh_reach(text, rest, std::move(deploy)));
  if (scheme == "k8s") return kubernetes_target(text, rest, std::move(deploy));
  return single(container_reach(text, scheme, rest, std::move(deploy)));
}

std::shared_ptr<const ReachTarget> reach_by_shell(const std::string& command) {
  return single_way(std::make_shared<ShellReach>(command));
}

}  // namespace farport::router
