# add_room(NAME SOURCES source... [PUBLIC library...] [PRIVATE library...])
#
# A room is a folder whose files form the library farport_NAME. What it may include is what it links: each room's
# headers are reached through a directory of links of its own, so that an include of a room that isn't linked
# finds no file.
function(add_room name)
  cmake_parse_arguments(room "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(farport_${name} STATIC ${room_SOURCES})
  room_includes(farport_${name} ${name})
  set_property(GLOBAL APPEND PROPERTY farport_rooms farport_${name})
  target_link_libraries(farport_${name} PUBLIC farport_options ${room_PUBLIC} PRIVATE ${room_PRIVATE})
endfunction()

# A room whose code runs once, or waits for other programs: it is made small rather than fast.
function(make_small name)
  set_target_properties(farport_${name} PROPERTIES MADE_SMALL ON)
endfunction()

# Lets a target, and whatever links it, include the headers of the current folder by their path in the project.
function(room_includes target name)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(tree ${PROJECT_BINARY_DIR}/rooms/${name})
  cmake_path(GET folder PARENT_PATH parent)
  file(MAKE_DIRECTORY ${tree}/${parent})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${tree}/${folder} SYMBOLIC)
  target_include_directories(${target} PUBLIC ${tree})
endfunction()
