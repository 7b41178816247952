# Everything comes from the distribution's packages.
find_package(PkgConfig REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
# Header-only, since the distribution has them as shared C++ libraries only, which would bring the shared
# libstdc++ back into a release that links it statically.
add_library(farport_spdlog INTERFACE)
target_link_libraries(farport_spdlog INTERFACE fmt::fmt-header-only)
target_compile_definitions(farport_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
find_package(Threads REQUIRED)
target_link_libraries(farport_spdlog INTERFACE Threads::Threads)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
# Header-only for the same reason: its CMake target names the shared library.
find_path(tomlplusplus_include toml++/toml.h REQUIRED)
pkg_check_modules(libuv REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(nghttp2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)
if(FARPORT_TESTS)
  find_package(Catch2 2 REQUIRED)
endif()
