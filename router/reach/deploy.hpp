// Deploy: whether and how farport is copied to a host or container that has none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"

namespace farport::router {

/// The statically linked farport, which runs on any Linux of our architecture.
class StaticProgram {
 public:
  StaticProgram(std::vector<std::byte> content, std::string digest)
      : content_(std::move(content)), digest_(std::move(digest)) {}

  [[nodiscard]] std::span<const std::byte> content() const { return content_; }
  /// SHA-256, in hexadecimal.
  [[nodiscard]] const std::string& digest() const { return digest_; }
  /// A prefix of the digest, for use in file names.
  [[nodiscard]] std::string short_digest() const { return digest_.substr(0, 16); }

 private:
  std::vector<std::byte> content_;
  std::string digest_;
};

/// The file of the static program. Concurrent users share one loaded copy, since a workload may have many
/// pods.
class StaticProgramFile : public std::enable_shared_from_this<StaticProgramFile> {
 public:
  /// `path`: the file; empty: this program if it is static, else the one beside it or in its installation.
  explicit StaticProgramFile(std::string path) : path_(std::move(path)) {}
  StaticProgramFile(const StaticProgramFile&) = delete;
  StaticProgramFile& operator=(const StaticProgramFile&) = delete;

  /// Loads the file on the thread pool, unless a loaded copy exists. Fails if there is no such program.
  transport::Task<Result<std::shared_ptr<const StaticProgram>>> load(transport::Loop& loop);

 private:
  Result<std::shared_ptr<const StaticProgram>> load_once();

  std::string path_;
  std::mutex reading_;
  std::weak_ptr<const StaticProgram> read_;
};

/// The program's content in gzip format, compressed on the thread pool.
transport::Task<std::vector<std::byte>> gzip(transport::Loop& loop,
                                             std::shared_ptr<const StaticProgram> program);

struct Deploy {
  enum class Way : std::uint8_t {
    automatic,  ///< Over ssh an installed one of this version; a helper container; else a copy.
    never,      ///< Use only what is installed there.
    ephemeral,  ///< A helper container.
    copy,       ///< A copy of the static program.
  };
  Way way = Way::automatic;
  std::string image{};  ///< Image of helper containers; empty: made of the static program.
  std::shared_ptr<StaticProgramFile> program{};  ///< Null only if nothing is deployed.
  /// Called with a line that announces what is about to be done at the other side; must not be empty.
  std::function<void(const std::string&)> announce;
  /// The command takes profiles: a helper container then gets the extra rights that this needs.
  bool profiles = false;
  /// How long the deployed agent stays after its last session.
  std::chrono::milliseconds linger{};
  /// A random name for a directory at the other side, used if another user may have made the directory with
  /// the usual name.
  std::string secret_name = random_token();
};

/// The script prints this, followed by "gzip" or "plain", in a line of its own to ask for the program. The
/// answer is the number of bytes in a line of its own, then the bytes.
inline constexpr std::string_view kSendRequest = "farport-send ";

/// The script prints this, followed by a path, in a line of its own if it avoids that path because another
/// user may have made it.
inline constexpr std::string_view kAvoidedNotice = "farport-avoids ";

/// A script for POSIX shells (dash, bash, busybox) that starts farport on a host or in a container. It is one
/// line without characters that would end a quoted word, so that it passes through any login shell. It runs
/// an installed farport of this version, or else the static program from a directory that is this user's
/// alone. It asks for the program if that is missing or has another digest, and each time if there is no
/// sha256sum. Nothing in it is user input.
/// `use_installed`: false ignores an installed farport.
[[nodiscard]] std::string deploy_script(const StaticProgram& program, const Deploy& deploy,
                                        bool use_installed);

}  // namespace farport::router
