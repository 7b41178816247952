// The names of a remote runtime's methods, asked for when one is missing.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "router/collect/recording.hpp"

namespace farport::cli {

class MethodNames {
 public:
  /// Of the runtime with this id. `sessions`, `readers`: must outlive this.
  MethodNames(router::SessionManager& sessions, const router::ReaderProcess& readers, std::string runtime_id)
      : sessions_(sessions), readers_(readers), runtime_id_(std::move(runtime_id)), hurry_(sessions.loop()) {}

  /// Whether there is an address without a name that has not been asked for.
  [[nodiscard]] bool lacks(const std::vector<std::uint64_t>& addresses) const;
  /// Asks the runtime, though not soon after it has been asked: it takes it a moment. Errors: it does not
  /// tell.
  transport::Task<Result<void>> ask(std::vector<std::uint64_t> addresses);
  /// Has ask() wait no longer.
  void hurry() { hurry_.set(); }

  /// The name of each address's method; the address in hexadecimal where there is none.
  [[nodiscard]] std::vector<std::string> of(const std::vector<std::uint64_t>& addresses) const;

 private:
  router::SessionManager& sessions_;
  const router::ReaderProcess& readers_;
  std::string runtime_id_;
  transport::Event hurry_;
  router::NamedMethods methods_;
  std::unordered_set<std::uint64_t> without_;  ///< Addresses that the runtime knows no name of.
  std::optional<std::chrono::steady_clock::time_point> asked_;
};

}  // namespace farport::cli
