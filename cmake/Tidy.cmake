# What scripts/tidy reads: the sources of several rooms as one. Each check visits all that is included, so what a run
# takes is the standard library's headers, times the number of sources.
function(add_tidy_source name)
  foreach(room IN LISTS ARGN)
    get_target_property(folder farport_${room} SOURCE_DIR)
    get_target_property(sources farport_${room} SOURCES)
    list(TRANSFORM sources PREPEND ${folder}/)
    list(APPEND all ${sources})
  endforeach()
  add_library(tidy_${name} OBJECT EXCLUDE_FROM_ALL ${all})
  target_link_libraries(tidy_${name} PRIVATE farport_cli farport_nettrace farport_profile farport_events PkgConfig::seccomp)
  set_target_properties(tidy_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
endfunction()

add_tidy_source(foundations base confinement ipc nettrace profile events auth config transport)
add_tidy_source(agent wire stream certificates sockets agent_metrics agent_gate agent_runtimes agent_dumps
                agent_connections agent_admin agent_api agent)
add_tidy_source(tools symbols symbol_files mirror cli)
