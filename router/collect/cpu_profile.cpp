#include "router/collect/cpu_profile.hpp"

#include <array>

#include <fmt/core.h>

#include "router/mirror/agent_session.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

constexpr std::size_t kPieceSize = 64 * 1024;

std::string target_of(const std::string& runtime_id, const CpuSampling& sampling) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(sampling.duration).count();
  return fmt::format("/v1/runtimes/{}/profile?frequency={}&duration={}{}", runtime_id, sampling.frequency,
                     seconds, sampling.wall ? "&event=wall" : "");
}

}  // namespace

CpuProfile::CpuProfile(SessionManager& sessions, const std::string& runtime_id, const CpuSampling& sampling)
    : wall_(sampling.wall), reader_(samples_), request_(sessions, target_of(runtime_id, sampling)) {}

Task<Result<void>> CpuProfile::begin() {
  const IoStatus head = co_await request_.head_received();
  if (head != IoStatus::ok) co_return tl::unexpected(request_.stream().error());
  if (request_.head().status != http_status::kOk) {
    const auto refused = co_await read_body(request_.head(), request_.stream());
    co_return tl::unexpected(refused.error());
  }
  while (!samples_.start() && !reader_.ended()) {
    CO_RETURN_IF_ERROR(co_await read_piece());
  }
  const bool older = wall_ && samples_.start() && samples_.start()->clock != SampleClock::wall;
  if (older) co_return fail("inspect", "the threads", "the agent's version is too old for it");
  co_return Result<void>();
}

Task<Result<void>> CpuProfile::receive(std::function<void(std::size_t)> came) {
  while (!reader_.ended()) {
    CO_ASSIGN_OR_RETURN(const auto read, co_await read_piece());
    came(read);
  }
  if (samples_.end() != SamplingEnd::failed) co_return Result<void>();
  co_return fail("profile", "the runtime", samples_.why_ended());
}

Task<Result<void>> CpuProfile::stop() {
  const std::array<std::byte, 1> enough{};
  const IoStatus told = co_await request_.stream().write(enough);
  if (told != IoStatus::ok) co_return tl::unexpected(request_.stream().error());
  co_return Result<void>();
}

/// Reads the next bytes that have come, and returns how many; waits for at least one.
Task<Result<std::size_t>> CpuProfile::read_piece() {
  std::vector<std::byte> piece(kPieceSize);
  const transport::Io got = co_await request_.stream().read(piece);
  if (got.status == IoStatus::failed) co_return tl::unexpected(request_.stream().error());
  if (got.status == IoStatus::end) {
    co_return fail("profile", "the runtime",
                   "the samples are incomplete: the process that took them ended early");
  }
  CO_RETURN_IF_ERROR(reader_.read(std::span(piece).first(got.bytes)));
  co_return got.bytes;
}

}  // namespace farport::router
