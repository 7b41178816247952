// What a stream may make its reader hold, whatever it says of itself. A trace that needs more is refused.
#pragma once

#include <cstddef>
#include <cstdint>

namespace farport::nettrace {

/// The most that format 6 can say; runtimes write blocks of about 100 KiB.
inline constexpr std::size_t kMostBlockBytes = (std::size_t{1} << 24) - 1;
/// Of the name of an object's type (formats 4 and 5). The longest that there is has 13.
inline constexpr std::size_t kMostTypeNameBytes = 64;
/// Of all definitions that are known at a time, as they are held.
inline constexpr std::size_t kMostDefinitionBytes = std::size_t{16} << 20;
/// Of one definition, those within structures included.
inline constexpr std::size_t kMostFields = 4096;
/// How deep structures and arrays of a definition may be nested.
inline constexpr int kMostFieldDepth = 16;
/// Of all stacks between two sequence points, as they are held. Runtimes write a sequence point for each 10
/// MiB of events.
inline constexpr std::size_t kMostStackBytes = std::size_t{32} << 20;
/// Of one stack. Runtimes write a hundred, kernels some hundred.
inline constexpr std::size_t kMostFrames = 4096;
/// That are known at a time.
inline constexpr std::size_t kMostThreads = 65'536;
/// Of all names of threads that are known at a time.
inline constexpr std::size_t kMostThreadNameBytes = std::size_t{4} << 20;
/// Of all label lists between two sequence points, as they are held.
inline constexpr std::size_t kMostLabelBytes = std::size_t{8} << 20;
/// Of one list.
inline constexpr std::size_t kMostLabels = 1024;
/// Of the texts in the trace's own header (format 6).
inline constexpr std::size_t kMostTraceTextBytes = std::size_t{1} << 20;
/// Values that one payload may be decoded to, those within arrays and structures included.
inline constexpr std::size_t kMostPayloadValues = 131'072;
/// Timestamps are converted without loss up to this. Linux counts nanoseconds, Windows mostly tenths of
/// microseconds.
inline constexpr std::int64_t kMostTicksPerSecond = 100'000'000'000;

}  // namespace farport::nettrace
