// Names, keywords, levels and event values of the providers that farport uses.
#pragma once

#include <array>
#include <cstdint>

namespace farport::events {

inline constexpr const char* kRuntimeProvider = "Microsoft-Windows-DotNETRuntime";
inline constexpr const char* kRundownProvider = "Microsoft-Windows-DotNETRuntimeRundown";
inline constexpr const char* kSampleProvider = "Microsoft-DotNETCore-SampleProfiler";
inline constexpr const char* kMetricsProvider = "System.Diagnostics.Metrics";
inline constexpr const char* kLoggingProvider = "Microsoft-Extensions-Logging";
inline constexpr const char* kCountersProvider = "System.Runtime";

/// The values of EventLevel.
inline constexpr std::uint32_t kErrorLevel = 2;
inline constexpr std::uint32_t kWarningLevel = 3;
inline constexpr std::uint32_t kInformationalLevel = 4;
inline constexpr std::uint32_t kVerboseLevel = 5;

/// Keywords of the runtime's own provider (ClrEtwAll.man).
inline constexpr std::uint64_t kExceptionKeyword = 0x8000;
inline constexpr std::uint64_t kGcKeyword = 0x1;
inline constexpr std::uint64_t kContentionKeyword = 0x4000;
inline constexpr std::uint64_t kThreadingKeyword = 0x10000;
/// ThreadPoolWorkerThreadWait: four fifths of what a busy server writes with kThreadingKeyword.
inline constexpr std::uint32_t kWorkerThreadWait = 57;
/// ExceptionCatchStart, ExceptionCatchStop, ExceptionFinallyStart, ExceptionFinallyStop,
/// ExceptionFilterStart, ExceptionFilterStop, ExceptionThrownStop: where an exception has gone. Each has a
/// stack, and one that passes ten blocks makes more than twenty of them.
inline constexpr std::array<std::uint32_t, 7> kExceptionPassed{250, 251, 252, 253, 254, 255, 256};
/// Makes the runtime collect at once and report all surviving objects: GC, Type, GCHeapDump, GCHeapCollect,
/// GCHeapAndTypeNames.
inline constexpr std::uint64_t kHeapSnapshotKeywords = 0x1980001;
/// GCHeapCollect alone.
inline constexpr std::uint64_t kHeapCollectKeyword = 0x800000;
/// Names of the types of what is reported: by themselves, and with a heap.
inline constexpr std::uint64_t kTypeKeywords = 0x80000 | 0x1000000;
/// A sample's value for a thread outside .NET code, which waits or runs native code.
inline constexpr std::uint32_t kSampledOutside = 1;
/// The same for a thread in .NET code.
inline constexpr std::uint32_t kSampledManaged = 2;
/// Makes a rundown report modules.
inline constexpr std::uint64_t kLoaderKeyword = 0x8;
/// In a rundown: the names of all methods, whether they were compiled by the runtime or ahead of time.
inline constexpr std::uint64_t kRundownMethodKeywords = kLoaderKeyword | 0x10 | 0x20;
/// With kVerboseLevel: the names of methods that the runtime compiles.
inline constexpr std::uint64_t kCompiledMethodKeyword = 0x10;
/// With kVerboseLevel: the names of methods that the runtime compiles, and of those compiled ahead of time
/// when it first uses them (see PrecompiledMethods).
inline constexpr std::uint64_t kMethodLoadKeywords = kLoaderKeyword | kCompiledMethodKeyword | 0x2000000000;

}  // namespace farport::events
