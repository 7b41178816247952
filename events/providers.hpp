// The sources of events that farport asks for, by their names, and the events that it reads.
#pragma once

#include <cstdint>

namespace farport::events {

inline constexpr const char* kRuntimeProvider = "Microsoft-Windows-DotNETRuntime";
inline constexpr const char* kRundownProvider = "Microsoft-Windows-DotNETRuntimeRundown";
inline constexpr const char* kSampleProvider = "Microsoft-DotNETCore-SampleProfiler";
inline constexpr const char* kMetricsProvider = "System.Diagnostics.Metrics";
inline constexpr const char* kLoggingProvider = "Microsoft-Extensions-Logging";

/// EventLevel's numbers.
inline constexpr std::uint32_t kErrorLevel = 2;
inline constexpr std::uint32_t kInformationalLevel = 4;
inline constexpr std::uint32_t kVerboseLevel = 5;

/// Keywords of the runtime's own provider (ClrEtwAll.man).
inline constexpr std::uint64_t kExceptionKeyword = 0x8000;
/// Has the runtime collect at once, and tell of all that survives: GC, Type, GCHeapDump, GCHeapCollect,
/// GCHeapAndTypeNames.
inline constexpr std::uint64_t kHeapSnapshotKeywords = 0x1980001;
/// What a sample says of its thread: it was not in .NET code, so that it waits, or runs other code.
inline constexpr std::uint32_t kSampledOutside = 1;
/// What a rundown tells of modules.
inline constexpr std::uint64_t kLoaderKeyword = 0x8;
/// What a rundown tells so that addresses have names: loader, JIT, NGen, and that it is at the end.
inline constexpr std::uint64_t kMethodsKeyword = 0x8 | 0x10 | 0x20 | 0x100;

}  // namespace farport::events
