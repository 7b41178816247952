#include "stream_block.hpp"

#include <fstream>
#include <stdexcept>

namespace farport::fake {
namespace {

constexpr std::size_t kStreamBlock = 256 * 1024;

}  // namespace

ipc::Bytes stream_block(const std::string& file) {
  ipc::Bytes block(kStreamBlock);
  if (file.empty()) {
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(i * 31 + i / 251);
    return block;
  }
  std::ifstream input(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = input.tellg();
  if (size <= 0) throw std::runtime_error("cannot read " + file);
  block.resize(static_cast<std::size_t>(size));
  input.seekg(0);
  input.read(reinterpret_cast<char*>(block.data()), size);
  return block;
}

}  // namespace farport::fake
