# What scripts/tidy reads: the sources of all rooms, several rooms as one. Each check visits all that is included, so what
# a run takes is the standard library's headers, times the number of sources.
set(foundations base confinement ipc nettrace profile heap events timeline auth config transport)
set(agent wire stream certificates sockets agent_metrics agent_gate agent_runtimes agent_dumps agent_connections agent_admin
          agent_api agent)
set(tools symbols symbol_files mirror cli)
# Libraries of others, and what takes in a program that has been built.
set(left_out spdlog placeholder)

get_property(rooms GLOBAL PROPERTY farport_rooms)
list(TRANSFORM rooms REPLACE "^farport_" "")
set(others ${rooms})
list(REMOVE_ITEM others ${foundations} ${agent} ${tools} ${left_out})

foreach(part foundations agent tools others)
  set(all)
  foreach(room IN LISTS ${part})
    get_target_property(folder farport_${room} SOURCE_DIR)
    get_target_property(sources farport_${room} SOURCES)
    list(TRANSFORM sources PREPEND ${folder}/)
    list(APPEND all ${sources})
  endforeach()
  add_library(tidy_${part} OBJECT EXCLUDE_FROM_ALL ${all})
  target_link_libraries(tidy_${part} PRIVATE farport_cli farport_nettrace farport_profile farport_heap farport_events PkgConfig::seccomp)
  set_target_properties(tidy_${part} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
endforeach()
