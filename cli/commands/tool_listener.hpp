// A tool of `farport run` that listens (--diagnostic-port HOST:PORT,listen), and the runtime that it gets.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "router/mirror/mirror.hpp"

namespace farport::cli {

/// Gives the tool one runtime of a remote: the one that is named, otherwise the next one that starts, or one
/// that is suspended. Says on standard error what it waits for, and which one it took.
class ToolListener {
 public:
  /// `remote`: as the mirror's rows name it. `wanted`: a name, pid or id; empty: any. `socket`: where the
  /// tool listens.
  ToolListener(router::Mirror& mirror, std::string remote, std::string wanted, std::string socket);

  /// To be called when the mirror has listed what is there. Errors: several runtimes fit what is wanted.
  Result<void> begin();
  /// To be called when the mirror has changed.
  void look();

 private:
  [[nodiscard]] std::vector<router::MirrorRow> rows() const;
  [[nodiscard]] std::optional<router::MirrorRow> next_to_start() const;
  void take(const router::MirrorRow& row);

  router::Mirror& mirror_;
  std::string remote_;
  std::string wanted_;
  std::string socket_;
  std::set<std::string> running_;  ///< Ids of those that ran already.
  std::string taken_;              ///< Its id; empty: none yet.
  pid_t dialled_as_ = 0;           ///< Its placeholder's pid: another placeholder has to dial anew.
};

}  // namespace farport::cli
