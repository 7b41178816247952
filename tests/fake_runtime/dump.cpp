#include "dump.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <vector>

#include <unistd.h>

#include "ipc/message.hpp"
#include "ipc/payload.hpp"

namespace farport::fake {
namespace {

constexpr std::size_t kDumpBlock = 64 * 1024;

}  // namespace

void write_dump(const std::string& path, std::uint64_t size) {
  std::ofstream file(path, std::ios::binary);
  std::mt19937_64 random(size);
  std::vector<char> block(kDumpBlock);
  for (std::uint64_t done = 0, number = 0; done < size; done += block.size(), ++number) {
    // A quarter of it random; the zeros begin and end at odd places.
    std::fill(block.begin(), block.end(), '\0');
    const std::size_t filled = number % 4 == 0 ? kDumpBlock : number % 7 * 100;
    std::generate_n(block.begin(), filled, [&] { return static_cast<char>(random()); });
    file.write(block.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(kDumpBlock, size - done)));
  }
}

ipc::Bytes answer_dump(const std::string& mode, const ipc::Message& message) {
  const auto command = ipc::GenerateCoreDump::decode(message.payload);
  if (!command) return ipc::encode_error(ipc::hresult::kBadEncoding);
  const std::string& path = command->path;
  const std::size_t colon = std::min(mode.find(':'), mode.size());
  const std::string kind = mode.substr(0, colon);
  const std::string value = mode.substr(std::min(colon + 1, mode.size()));
  if (kind == "bytes") {
    write_dump(path, std::stoull(value));
  } else if (kind == "link") {
    std::filesystem::create_symlink(value, path);
  } else if (kind == "hard") {
    std::filesystem::create_hard_link(value, path);
  } else if (kind == "user") {
    write_dump(path, 1000);
    if (::chown(path.c_str(), static_cast<uid_t>(std::stoul(value)), static_cast<gid_t>(-1)) != 0) {
      throw std::runtime_error("chown");
    }
  } else if (kind == "directory") {
    std::filesystem::create_directory(path);
  } else if (kind == "error") {
    return ipc::encode_error(ipc::hresult::kFail, value);
  } else if (kind != "nothing") {
    throw std::invalid_argument("no such kind of dump: " + mode);
  }
  return ipc::encode_ok();
}

}  // namespace farport::fake
