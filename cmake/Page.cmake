# A page that farport writes, the folder page/ of its room, as one text in a header: its style, its scripts, and their
# hashes, which the page's Content-Security-Policy names (CSP Level 3, section 2.3.1), so that nothing else in the page can
# run.

# base64_sha256(OUT TEXT): CMake has the hash in hexadecimal only. Three of its digits are two of base64.
function(base64_sha256 out text)
  string(SHA256 hex "${text}")
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(base64 "")
  string(REGEX MATCHALL "..?.?" groups "${hex}00")
  foreach(group IN LISTS groups)
    math(EXPR high "0x${group} >> 6")
    math(EXPR low "0x${group} & 63")
    string(SUBSTRING "${alphabet}" ${high} 1 first)
    string(SUBSTRING "${alphabet}" ${low} 1 second)
    string(APPEND base64 "${first}${second}")
  endforeach()
  # Of the 44 digits, the last is of the zeros alone.
  string(SUBSTRING "${base64}" 0 43 base64)
  set(${out} "sha256-${base64}=" PARENT_SCOPE)
endfunction()

# read_parts(OUT FILE...): the texts of files, which are named as seen from page/, one after the other. CMake runs again when one changes.
function(read_parts out)
  set(all "")
  foreach(name IN LISTS ARGN)
    get_filename_component(path page/${name} ABSOLUTE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    file(READ ${path} text)
    string(APPEND all "${text}")
  endforeach()
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

# make_page(ROOM STYLE FILE... SCRIPTS FILE...): makes ROOM/page.hpp in the directory of what is generated, of the files in
# the room's folder page/.
function(make_page room)
  cmake_parse_arguments(PARSE_ARGV 1 page "" "" "STYLE;SCRIPTS")
  read_parts(style ${page_STYLE})
  read_parts(script ${page_SCRIPTS})
  string(PREPEND script "\"use strict\";\n")
  base64_sha256(style_hash "${style}")
  base64_sha256(script_hash "${script}")
  set(data_mark "@data@")
  set(data "${data_mark}")
  read_parts(page page.html)
  string(CONFIGURE "${page}" page @ONLY)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/page.hpp.in ${PROJECT_BINARY_DIR}/generated/${room}/page.hpp @ONLY)
endfunction()
