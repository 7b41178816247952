# What only the package has. CPack runs this with the directory that becomes the root.
set(here ${CMAKE_CURRENT_LIST_DIR})
set(root $ENV{DESTDIR})
file(INSTALL ${here}/logrotate DESTINATION ${root}/etc/logrotate.d RENAME farport)
file(INSTALL ${here}/agent.toml DESTINATION ${root}/usr/share/doc/farport/examples)
file(INSTALL ${here}/../../LICENSE DESTINATION ${root}/usr/share/doc/farport RENAME copyright)
file(INSTALL ${here}/../../CHANGELOG.md DESTINATION ${root}/usr/share/doc/farport RENAME changelog)
file(ARCHIVE_CREATE OUTPUT ${root}/usr/share/doc/farport/changelog.gz PATHS ${root}/usr/share/doc/farport/changelog
  FORMAT raw COMPRESSION GZip)
file(REMOVE ${root}/usr/share/doc/farport/changelog)
# For the agent's configuration and keys.
file(MAKE_DIRECTORY ${root}/etc/farport)
file(CHMOD ${root}/etc/farport PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)
