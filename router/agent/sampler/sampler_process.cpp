#include "router/agent/sampler/sampler_process.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "router/agent/sampler/sampling.hpp"

namespace farport::router {
namespace {

/// The pidfd, where the samples go, and the control.
constexpr std::size_t kDescriptors = 3;

void take(std::string_view bytes, const std::vector<UniqueFd>& descriptors) {
  SamplingRequest request;
  if (bytes.size() != sizeof request || descriptors.size() != kDescriptors) return;
  std::memcpy(&request, bytes.data(), sizeof request);
  run_sampling(request, descriptors[0], descriptors[1], descriptors[2]);
}

}  // namespace

Result<SamplerProcess> SamplerProcess::start(std::function<void()> confine) {
  auto process = HelperProcess::start({kSamplerName, std::move(confine), take});
  if (!process) return tl::unexpected(process.error());
  return SamplerProcess(std::move(*process));
}

Result<SamplingEnds> SamplerProcess::begin(const SamplingRequest& request, const UniqueFd& process) const {
  std::array<int, 2> samples{};
  if (::pipe2(samples.data(), O_CLOEXEC | O_NONBLOCK) != 0) return fail_errno("make", "a pipe", errno);
  UniqueFd samples_read(samples[0]);
  const UniqueFd samples_write(samples[1]);
  std::array<int, 2> control{};
  if (::pipe2(control.data(), O_CLOEXEC) != 0) return fail_errno("make", "a pipe", errno);
  const UniqueFd control_read(control[0]);
  UniqueFd control_write(control[1]);
  const std::string_view bytes(reinterpret_cast<const char*>(&request), sizeof request);
  auto lifeline = process_.begin(bytes, {process.get(), samples_write.get(), control_read.get()});
  if (!lifeline) return tl::unexpected(lifeline.error());
  return SamplingEnds{std::move(samples_read), std::move(control_write), std::move(*lifeline)};
}

}  // namespace farport::router
