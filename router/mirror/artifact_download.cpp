#include "router/mirror/artifact_download.hpp"

#include <span>
#include <utility>

#include <fmt/format.h>

#include "router/mirror/agent_session.hpp"
#include "router/mirror/resumable_request.hpp"
#include "router/wire/dump.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {
namespace {

using transport::Io;
using transport::IoStatus;
using transport::Task;

constexpr std::size_t kPieceBytes = 256 * 1024;

/// What is not known is not compared.
bool is_known(const Artifact& artifact) {
  return !artifact.sha256.empty();
}

}  // namespace

Result<void> ArtifactCheck::add(std::span<const std::byte> bytes) {
  if (is_known(artifact_) && bytes.size() > artifact_.size - size_)
    return fail("get", artifact_.id,
                fmt::format("more comes than the {} bytes that the agent has said", artifact_.size));
  if (!is_known(artifact_) && bytes.size() > most_ - size_)
    return fail("get", artifact_.id,
                fmt::format("the agent has not said its size, and more comes than {} MiB, which is a lot for "
                            "the {} that it takes there",
                            most_ >> 20, mebibytes(artifact_.bytes)),
                "farport artifacts --get takes it whatever its size");
  size_ += bytes.size();
  digest_.add(bytes);
  return {};
}

Result<void> ArtifactCheck::end() {
  if (!is_known(artifact_)) return {};
  if (size_ != artifact_.size)
    return fail("get", artifact_.id, fmt::format("{} of its {} bytes have come", size_, artifact_.size));
  if (digest_.end() != artifact_.sha256)
    return fail("get", artifact_.id, "it has another SHA-256 than the agent has said");
  return {};
}

namespace {

std::string path_of(const std::string& id, std::uint64_t offset) {
  return fmt::format("/v1/artifacts/{}?offset={}", id, offset);
}

/// Reads an answer to its end.
Task<Result<void>> take_answer(const transport::MessageHead& head, transport::Stream& from,
                               TakeContent& take) {
  if (head.status != http_status::kOk) {
    const auto refused = co_await read_body(head, from);
    co_return tl::unexpected(refused.error());
  }
  for (;;) {
    std::vector<std::byte> piece(kPieceBytes);
    const Io got = co_await from.read(piece);
    if (got.status == IoStatus::failed) co_return tl::unexpected(from.error());
    if (got.status == IoStatus::end) co_return Result<void>();
    piece.resize(got.bytes);
    CO_RETURN_IF_ERROR(co_await take(std::move(piece)));
  }
}

}  // namespace

Task<Result<void>> download_artifact(SessionManager& sessions, std::string id, std::uint64_t offset,
                                     TakeContent take) {
  ResumableRequest request(sessions, path_of(id, offset));
  const IoStatus head = co_await request.head_received();
  if (head != IoStatus::ok) co_return tl::unexpected(request.stream().error());
  const Result<void> taken = co_await take_answer(request.head(), request.stream(), take);
  co_return taken;
}

Task<Result<void>> download_artifact(std::shared_ptr<AgentSession> session, std::string id,
                                     std::uint64_t offset, TakeContent take) {
  CO_ASSIGN_OR_RETURN(const auto answer, co_await session->ask("POST", path_of(id, offset)));
  const Result<void> taken = co_await take_answer(answer->head(), *answer, take);
  co_return taken;
}

}  // namespace farport::router
