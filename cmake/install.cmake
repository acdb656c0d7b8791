# `make install PREFIX=...` and find_package(drover).
include(CMakePackageConfigHelpers)
install(TARGETS drover EXPORT drover-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET drover_command)
  install(TARGETS drover_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # The manual page and the completions are printed by the command itself, from its option table.
  set(GENERATED ${CMAKE_BINARY_DIR}/generated)
  add_custom_command(
    OUTPUT ${GENERATED}/drover.1 ${GENERATED}/drover.bash ${GENERATED}/_drover ${GENERATED}/drover.fish
    COMMAND ${CMAKE_COMMAND} -E make_directory ${GENERATED}
    COMMAND drover_command man > ${GENERATED}/drover.1
    COMMAND drover_command completion bash > ${GENERATED}/drover.bash
    COMMAND drover_command completion zsh > ${GENERATED}/_drover
    COMMAND drover_command completion fish > ${GENERATED}/drover.fish
    DEPENDS drover_command)
  add_custom_target(drover_manual ALL DEPENDS ${GENERATED}/drover.1)
  install(FILES ${GENERATED}/drover.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${GENERATED}/drover.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME drover)
  install(FILES ${GENERATED}/_drover DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${GENERATED}/drover.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(DIRECTORY drover DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT drover-targets NAMESPACE drover:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/drover)
configure_package_config_file(cmake/drover-config.cmake.in ${CMAKE_BINARY_DIR}/drover-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/drover)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/drover-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/drover-config.cmake ${CMAKE_BINARY_DIR}/drover-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/drover)
