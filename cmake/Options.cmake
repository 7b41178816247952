# One interface target carries warnings, hardening and sanitizers to every target of the project.
add_library(farport_options INTERFACE)
target_compile_options(farport_options INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual
  -Wformat=2 -Wimplicit-fallthrough -fstack-protector-strong -fstack-clash-protection)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 at -O3 is wrong about `"text" + std::string`.
  target_compile_options(farport_options INTERFACE -Wno-restrict)
  if(CMAKE_UNITY_BUILD)
    # It takes the sources that are compiled as one for headers, and warns of coroutines whose locals are of a type in
    # an anonymous namespace.
    target_compile_options(farport_options INTERFACE -Wno-subobject-linkage)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # The std::stable_sort of GCC 12's library uses what the library itself deprecates.
  target_compile_options(farport_options INTERFACE -Wno-deprecated-declarations)
  # It links the 25 sanitized programs in a fraction of the time that GNU ld takes.
  target_link_options(farport_options INTERFACE -fuse-ld=lld)
endif()
target_link_options(farport_options INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--as-needed)

if(FARPORT_SANITIZE)
  target_compile_options(farport_options INTERFACE
    -fsanitize=${FARPORT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(FARPORT_SANITIZE MATCHES "undefined")
    # Its check of an object's type opens a pipe, and takes having no descriptors left for a wrong type.
    target_compile_options(farport_options INTERFACE -fno-sanitize=vptr)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 warns of the standard library under the sanitizers.
    target_compile_options(farport_options INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(farport_options INTERFACE -fsanitize=${FARPORT_SANITIZE})
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  # FORTIFY needs optimisation, and hides errors from the sanitizers.
  # The assertions end a process that reads past the end of a view, before what it read is sent to anybody.
  target_compile_definitions(farport_options INTERFACE _FORTIFY_SOURCE=2 _GLIBCXX_ASSERTIONS)
  # Small before fast where the two differ: a page that is not there needs no memory beside the application.
  target_compile_options(farport_options INTERFACE $<IF:$<BOOL:$<TARGET_PROPERTY:MADE_SMALL>>,-Os,-O2>
    -ffunction-sections -fdata-sections)
  target_link_options(farport_options INTERFACE -static-libstdc++ -static-libgcc -Wl,--gc-sections)
endif()

# Otherwise JSON becomes whatever a function takes: an enumeration, a number, and ends the program where it is none.
add_compile_definitions(JSON_USE_IMPLICIT_CONVERSIONS=0)

if(FARPORT_COVERAGE)
  # Threads count too.
  target_compile_options(farport_options INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(farport_options INTERFACE --coverage)
endif()

if(FARPORT_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "FARPORT_FUZZ takes Clang, for libFuzzer: use the preset sanitize")
  endif()
  # Counts the branches taken; libFuzzer's main comes with the targets alone. The assertions see what the
  # sanitizers can't: an index past a view of something longer.
  target_compile_options(farport_options INTERFACE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:LEFT_TO_TESTS>>>:-fsanitize=fuzzer-no-link>)
  target_compile_definitions(farport_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()

# For what no fuzzer enters: its branches are not counted, which takes time to compile, and each time that it runs.
function(leave_to_tests target)
  set_target_properties(${target} PROPERTIES LEFT_TO_TESTS ON)
endfunction()
