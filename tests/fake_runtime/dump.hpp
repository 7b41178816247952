// What a fake runtime does when it is asked for a dump.
#pragma once

#include <cstdint>
#include <string>

#include "ipc/message.hpp"

namespace farport::fake {

/// Does what `mode` says at the path that the message names, and returns the whole answer:
///   bytes:N      writes N bytes whose content only depends on N: random blocks and zeros by turns
///   link:TARGET  puts a symbolic link there, and says OK
///   hard:TARGET  puts a hard link there, and says OK
///   user:N       writes a little and gives the file to user N, and says OK
///   directory    makes a directory there, and says OK
///   nothing      says OK
///   error:TEXT   fails with this text
/// Throws std::invalid_argument for any other mode.
[[nodiscard]] ipc::Bytes answer_dump(const std::string& mode, const ipc::Message& message);

/// Writes what `bytes:N` writes.
void write_dump(const std::string& path, std::uint64_t size);

}  // namespace farport::fake
