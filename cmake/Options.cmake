# One interface target carries warnings, hardening and sanitizers to every target of the project.
add_library(farport_options INTERFACE)
target_include_directories(farport_options INTERFACE ${PROJECT_SOURCE_DIR})
# -Wno-restrict: GCC 12 at -O3 is wrong about `"text" + std::string`.
target_compile_options(farport_options INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual
  -Wformat=2 -Wimplicit-fallthrough -Wno-restrict -fstack-protector-strong -fstack-clash-protection -fcf-protection)
target_link_options(farport_options INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--as-needed)

if(FARPORT_SANITIZE)
  target_compile_options(farport_options INTERFACE
    -fsanitize=${FARPORT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    -Wno-maybe-uninitialized)  # GCC 12 warns of the standard library under the sanitizers.
  target_link_options(farport_options INTERFACE -fsanitize=${FARPORT_SANITIZE})
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  # FORTIFY needs optimisation, and hides errors from the sanitizers.
  target_compile_definitions(farport_options INTERFACE _FORTIFY_SOURCE=2)
  target_link_options(farport_options INTERFACE -static-libstdc++ -static-libgcc)
endif()
