// Deploy: whether and how farport is brought along to where there is none.
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

// StaticProgram: the farport that runs on any Linux of our architecture, to be brought along.

class StaticProgram {
 public:
  StaticProgram(std::vector<std::byte> content, std::string digest)
      : content_(std::move(content)), digest_(std::move(digest)) {}

  [[nodiscard]] std::span<const std::byte> content() const { return content_; }
  /// SHA-256, in hexadecimal.
  [[nodiscard]] const std::string& digest() const { return digest_; }
  /// As much of it as tells one program from another in names.
  [[nodiscard]] std::string short_digest() const { return digest_.substr(0, 16); }

 private:
  std::vector<std::byte> content_;
  std::string digest_;
};

/// The file that has it. Those who want it at the same time share what has been read: a workload's pods are
/// many.
class StaticProgramFile : public std::enable_shared_from_this<StaticProgramFile> {
 public:
  /// `path`: where it is; empty: this program itself if it is static, else the one beside it or in its
  /// installation.
  explicit StaticProgramFile(std::string path) : path_(std::move(path)) {}
  StaticProgramFile(const StaticProgramFile&) = delete;
  StaticProgramFile& operator=(const StaticProgramFile&) = delete;

  /// Reads it, on the thread pool, unless somebody has it. Errors: there is none, or it is none.
  transport::Task<Result<std::shared_ptr<const StaticProgram>>> load(transport::Loop& loop);

 private:
  Result<std::shared_ptr<const StaticProgram>> load_once();

  std::string path_;
  std::mutex reading_;
  std::weak_ptr<const StaticProgram> read_;
};

/// A program's content by gzip, made on the thread pool.
transport::Task<std::vector<std::byte>> gzip(transport::Loop& loop,
                                             std::shared_ptr<const StaticProgram> program);

struct Deploy {
  enum class Way : std::uint8_t {
    automatic,  ///< An installed one of this version over ssh; a helper container; else a copy.
    never,      ///< What is installed there.
    ephemeral,  ///< A helper container.
    copy,       ///< A copy of the static program.
  };
  Way way = Way::automatic;
  std::string image{};  ///< Of helper containers; empty: one made of the static program.
  std::shared_ptr<StaticProgramFile>
      program{};  ///< What is brought along; null only where nothing is reached.
  /// Told in a line what is about to be done at the other side; must not be empty.
  std::function<void(const std::string&)> announce;
  /// It is to take profiles: a helper container gets the rights that this takes, and no other one.
  bool profiles = false;
  /// How long what is brought along stays after its last session.
  std::chrono::milliseconds linger{};
  /// Letters and digits that nobody can guess, for the name of a directory at the other side where another
  /// user may have made what has the usual name.
  std::string secret_name = random_token();
};

// The shell script by which farport comes to a host or a container that has none.

/// What the script asks for in a line of its own, with "gzip" or "plain" behind it. What it is sent then: the
/// number of bytes in a line of its own, and the bytes.
inline constexpr std::string_view kSendRequest = "farport-send ";

/// The script says this in a line of its own, with a path behind it, when it does not use what has that path
/// because another user may have made it.
inline constexpr std::string_view kAvoidedNotice = "farport-avoids ";

/// A script for POSIX's shell (dash, bash, busybox): one line without quotes that would end a quoted word, so
/// that it passes through any login shell. It runs an installed farport of this version; else ours, from a
/// directory that is this user's alone, asking for it where it isn't there yet or has another digest. Without
/// sha256sum there it asks each time. Nothing in it comes from users.
/// `use_installed`: false: ours in any case.
[[nodiscard]] std::string deploy_script(const StaticProgram& program, const Deploy& deploy,
                                        bool use_installed);

}  // namespace farport::router
