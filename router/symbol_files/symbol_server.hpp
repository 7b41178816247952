// A symbol server, asked by the user's curl.
#pragma once

#include <functional>
#include <string>

#include "base/error.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"

namespace farport::router {

/// One that answers GET with a file (dotnet/symstore, «Simple Symbol Query Protocol»; debuginfod(8)).
class SymbolServer {
 public:
  /// Told of so many bytes of the file that comes.
  using OnBytes = std::function<void(std::uint64_t bytes)>;

  /// `url`: http or https, without what would need quotes; it may have a password.
  SymbolServer(transport::Loop& loop, std::string url);

  /// Fetches a file by its path behind the URL, and writes it to `to`, which is empty. False: the server has
  /// no such file. Errors: it doesn't answer, says something else, is too slow, or the file is too large;
  /// what has been written is nothing then. Cancelling it ends curl.
  transport::Task<Result<bool>> fetch(std::string path, int to, OnBytes on_bytes);

  /// The URL, without a password.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  transport::Loop& loop_;
  std::string url_;
  std::string name_;
};

}  // namespace farport::router
