// StaticProgram: the farport that runs on any Linux of our architecture, to be brought along.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"

namespace farport::router {

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

}  // namespace farport::router
