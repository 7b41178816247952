// MethodNames: names of a remote runtime's methods, requested when one is missing.
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
  /// For the runtime with this id. `sessions` and `readers` must outlive this.
  MethodNames(router::SessionManager& sessions, const router::ReaderProcess& readers, std::string runtime_id)
      : sessions_(sessions), readers_(readers), runtime_id_(std::move(runtime_id)), hurry_(sessions.loop()) {}

  /// Whether any address has no name and was not asked for yet.
  [[nodiscard]] bool lacks(const std::vector<std::uint64_t>& addresses) const;
  /// Asks the runtime, but with a pause after the previous request, since each takes it a moment. Fails if
  /// the runtime does not answer.
  transport::Task<Result<void>> ask(std::vector<std::uint64_t> addresses);
  /// Ends the pause of ask().
  void hurry() { hurry_.set(); }

  /// The method's name for each address; the address in hexadecimal if it is unknown.
  [[nodiscard]] std::vector<std::string> of(const std::vector<std::uint64_t>& addresses) const;

 private:
  router::SessionManager& sessions_;
  const router::ReaderProcess& readers_;
  std::string runtime_id_;
  transport::Event hurry_;
  router::NamedMethods methods_;
  std::unordered_set<std::uint64_t> without_;  ///< Addresses for which the runtime has no name.
  std::optional<std::chrono::steady_clock::time_point> asked_;
};

}  // namespace farport::cli
