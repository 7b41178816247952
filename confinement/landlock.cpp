#include "confinement/landlock.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

namespace farport::confinement {
namespace {

// From linux/landlock.h, whose version on older systems lacks newer definitions.
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1;

constexpr std::uint64_t bit(int number) {
  return std::uint64_t{1} << number;
}
constexpr std::uint64_t kExecute = bit(0);
constexpr std::uint64_t kWriteFile = bit(1);
constexpr std::uint64_t kReadFile = bit(2);
constexpr std::uint64_t kRemoveDirectory = bit(4);
constexpr std::uint64_t kRemoveFile = bit(5);
constexpr std::uint64_t kMakeCharacterDevice = bit(6);
constexpr std::uint64_t kMakeDirectory = bit(7);
constexpr std::uint64_t kMakeFile = bit(8);
constexpr std::uint64_t kMakeSocket = bit(9);
constexpr std::uint64_t kMakeFifo = bit(10);
constexpr std::uint64_t kMakeBlockDevice = bit(11);
constexpr std::uint64_t kMakeLink = bit(12);
constexpr std::uint64_t kRefer = bit(13);
constexpr std::uint64_t kTruncate = bit(14);
constexpr std::uint64_t kDeviceControl = bit(15);
constexpr std::uint64_t kBindTcp = bit(0);
constexpr std::uint64_t kConnectTcp = bit(1);
constexpr std::uint64_t kAbstractSockets = bit(0);
constexpr std::uint64_t kSignals = bit(1);

/// All rights but reading directories. An application may remake its directory under /run at each start; for
/// the kernel that is a new directory, and its runtimes must still be found.
constexpr std::uint64_t kFileAccess = kExecute | kWriteFile | kReadFile | kRemoveDirectory | kRemoveFile |
                                      kMakeCharacterDevice | kMakeDirectory | kMakeFile | kMakeSocket |
                                      kMakeFifo | kMakeBlockDevice | kMakeLink | kRefer;
/// The rights that a rule on a non-directory may have.
constexpr std::uint64_t kForOneFile = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;

struct RulesetAttributes {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};

struct [[gnu::packed]] PathBeneathAttributes {
  std::uint64_t allowed = 0;
  std::int32_t parent = -1;
};

/// The rights that are restricted; newer versions know more of them.
RulesetAttributes attributes_of(int version, bool dials, bool signals) {
  RulesetAttributes attributes{kFileAccess, 0, 0};
  if (version >= 3) attributes.files |= kTruncate;
  if (version >= 4) attributes.network = dials ? kBindTcp : kBindTcp | kConnectTcp;
  if (version >= 5) attributes.files |= kDeviceControl;
  if (version >= 6) attributes.scoped = signals ? kAbstractSockets : kAbstractSockets | kSignals;
  return attributes;
}

std::uint64_t allowed_by(std::uint8_t access) {
  const auto has = [access](Access wanted) { return (access & static_cast<std::uint8_t>(wanted)) != 0; };
  std::uint64_t allowed = 0;
  if (has(Access::read)) allowed |= kReadFile;
  if (has(Access::write)) allowed |= kWriteFile | kMakeFile;
  if (has(Access::exchange)) {
    allowed |= kReadFile | kMakeDirectory | kMakeFile | kRefer | kRemoveFile | kRemoveDirectory;
  }
  if (has(Access::remove)) allowed |= kRemoveFile;
  if (has(Access::cut)) allowed |= kTruncate;
  if (has(Access::pipe)) allowed |= kMakeFifo | kWriteFile;
  if (has(Access::execute)) allowed |= kReadFile | kExecute;
  return allowed;
}

Result<void> add(int ruleset, const FileRule& rule, std::uint64_t handled) {
  const UniqueFd place(::open(rule.path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!place || ::fstat(place.get(), &status) != 0) return {};
  PathBeneathAttributes attributes;
  attributes.allowed = allowed_by(rule.access) & handled;
  if (!S_ISDIR(status.st_mode)) attributes.allowed &= kForOneFile;
  attributes.parent = place.get();
  // The kernel rejects a rule that allows nothing (EINVAL).
  if (attributes.allowed == 0) return {};
  if (::syscall(SYS_landlock_add_rule, ruleset, kPathBeneath, &attributes, 0U) != 0) {
    return fail_errno("allow by Landlock", rule.path, errno);
  }
  return {};
}

}  // namespace

int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0}, kAskVersion);
  return version < 0 ? 0 : static_cast<int>(version);
}

Result<void> restrict_files(const std::vector<FileRule>& rules, bool dials, bool signals) {
  const int version = landlock_version();
  if (version < kMinLandlock) {
    return fail(
        "use", "Landlock",
        version == 0 ? "this kernel doesn't offer it" : "this kernel's is too old (Linux 5.19 has it)");
  }
  const RulesetAttributes attributes = attributes_of(version, dials, signals);
  // Older kernels accept the longer structure if the unknown part is zero.
  const UniqueFd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0U)));
  if (!ruleset) return fail_errno("use", "Landlock", errno);
  for (const FileRule& rule : rules) {
    RETURN_IF_ERROR(add(ruleset.get(), rule, attributes.files));
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0U) != 0)
    return fail_errno("use", "Landlock", errno);
  return {};
}

}  // namespace farport::confinement
