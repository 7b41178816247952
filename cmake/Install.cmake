# What `cmake --install` puts where: the program, its manual pages, the completions and the unit file.
include(GNUInstallDirs)

install(TARGETS farport RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Where scripts/build --static has made it.
install(PROGRAMS ${PROJECT_BINARY_DIR}/farport-static DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/farport OPTIONAL)
foreach(section 1 5 7)
  install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} FILES_MATCHING PATTERN "*.${section}")
endforeach()
install(FILES completions/farport.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME farport)
install(FILES completions/_farport DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES completions/farport.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# systemd looks below lib/, whatever the libraries' own directory is called.
install(FILES examples/systemd/farport.socket DESTINATION lib/systemd/system)

# Units start the program where it was installed, and only then is it known where that is.
function(install_service unit directory)
  install(CODE "
    file(READ \"${PROJECT_SOURCE_DIR}/examples/systemd/${unit}\" unit)
    string(REPLACE /usr/bin/ \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/\" unit \"\${unit}\")
    file(WRITE \"${PROJECT_BINARY_DIR}/${unit}\" \"\${unit}\")")
  install(FILES ${PROJECT_BINARY_DIR}/${unit} DESTINATION lib/systemd/${directory})
endfunction()
install_service(farport.service system)
install_service(farport@.service system)
install_service(farport-connect@.service user)
