# What only the package has. CPack runs this with the directory that becomes the root.
set(here ${CMAKE_CURRENT_LIST_DIR})
set(root $ENV{DESTDIR})
set(doc ${root}/usr/share/doc/farport)
file(MAKE_DIRECTORY ${doc}/examples ${root}/etc/logrotate.d ${root}/etc/farport)
# Not file(INSTALL), which would put that directory before its destination once more.
file(COPY_FILE ${here}/logrotate ${root}/etc/logrotate.d/farport)
file(COPY_FILE ${here}/agent.toml ${doc}/examples/agent.toml)
file(COPY_FILE ${here}/../../LICENSE ${doc}/copyright)
file(COPY_FILE ${here}/../../CHANGELOG.md ${doc}/changelog)
file(ARCHIVE_CREATE OUTPUT ${doc}/changelog.gz PATHS ${doc}/changelog FORMAT raw COMPRESSION GZip)
file(REMOVE ${doc}/changelog)
# For the agent's configuration and keys.
file(CHMOD ${root}/etc/farport PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)
