# link_statically(NAME PROGRAM)
#
# A target that links the objects of PROGRAM and all rooms once more, with every library in the file: what is brought to
# hosts and containers that have none of them. Not part of all, since it is needed where farport brings itself along.
function(link_statically name program)
  if(FARPORT_SANITIZE OR FARPORT_COVERAGE OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    return()
  endif()
  get_property(rooms GLOBAL PROPERTY farport_rooms)
  list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
  add_executable(${name} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${program}>)
  add_dependencies(${name} ${rooms})
  target_link_libraries(${name} PRIVATE -Wl,--start-group ${archives} -Wl,--end-group
    -l:libuv_a.a -l:libnghttp2.a -l:libssl.a -l:libcrypto.a -l:libzstd.a -l:libseccomp.a -l:libelf.a -l:libz.a)
  # The warnings are about names that libuv and OpenSSL could look up by shared libraries of the C library's: main() has
  # them do without (use_built_in_lookups()).
  target_link_options(${name} PRIVATE -static-pie -s -Wl,--gc-sections -Wl,-z,relro -Wl,-z,now
    -Wl,-z,noexecstack -Wl,--no-warnings
    # 28,000 relocations in 10 KB instead of 680 (DT_RELR). The linker has it for x86-64.
    $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-Wl,-z,pack-relative-relocs>
    # What it was linked with, for scripts/sbom.py.
    -Wl,--dependency-file=${name}.d)
  # Unset, since CMake would ask for an ordinary -pie, too.
  set_property(TARGET ${name} PROPERTY POSITION_INDEPENDENT_CODE)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS "${archives}"
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()
