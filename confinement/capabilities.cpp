#include "confinement/capabilities.hpp"

#include <array>
#include <cerrno>
#include <string_view>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace farport::confinement {
namespace {

struct Named {
  int number;
  std::string_view name;
};
constexpr std::array kKnown{
    Named{CAP_CHOWN, "chown"},           Named{CAP_DAC_OVERRIDE, "dac_override"},
    Named{CAP_FOWNER, "fowner"},         Named{CAP_KILL, "kill"},
    Named{CAP_SYS_PTRACE, "sys_ptrace"}, Named{CAP_NET_BIND_SERVICE, "net_bind_service"}};

constexpr int kWord = 32;

bool set_capabilities(Capabilities permitted, Capabilities effective) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  for (std::size_t word = 0; word < data.size(); ++word) {
    const unsigned shift = static_cast<unsigned>(word) * kWord;
    data[word].permitted = static_cast<std::uint32_t>(permitted >> shift);
    data[word].effective = static_cast<std::uint32_t>(effective >> shift);
  }
  return ::syscall(SYS_capset, &header, data.data()) == 0;
}

}  // namespace

Capabilities capability(int number) {
  return Capabilities{1} << number;
}

Capabilities agent_capabilities() {
  return capability(CAP_CHOWN) | capability(CAP_DAC_OVERRIDE) | capability(CAP_FOWNER) |
         capability(CAP_KILL) | capability(CAP_SYS_PTRACE);
}

Capabilities sampler_capabilities() {
  Capabilities all = capability(CAP_SYS_PTRACE) | capability(CAP_SYSLOG);
#ifdef CAP_PERFMON
  all |= capability(CAP_PERFMON);
#endif
  return all;
}

Result<Capabilities> own_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return fail_errno("read", "the capabilities", errno);
  Capabilities own = 0;
  for (std::size_t word = 0; word < data.size(); ++word) {
    own |= Capabilities{data[word].permitted} << (static_cast<unsigned>(word) * kWord);
  }
  return own;
}

Result<Capabilities> keep_capabilities(Capabilities keep) {
  ASSIGN_OR_RETURN(const auto own, own_capabilities());
  const Capabilities left = own & keep;
  if (!set_capabilities(left, left)) return fail_errno("give up", "capabilities", errno);
  return left;
}

void use_capabilities(Capabilities use) {
  const auto own = own_capabilities();
  if (own) std::ignore = set_capabilities(*own, *own & use);
}

std::string describe_capabilities(Capabilities set) {
  std::string text;
  for (const Named& known : kKnown) {
    if ((set & capability(known.number)) == 0) continue;
    if (!text.empty()) text += ", ";
    text += known.name;
  }
  return text.empty() ? "none" : text;
}

}  // namespace farport::confinement
