# `make install PREFIX=...` and find_package(drover).
include(CMakePackageConfigHelpers)
install(TARGETS drover EXPORT drover-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET drover_command)
  install(TARGETS drover_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY drover DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT drover-targets NAMESPACE drover:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/drover)
configure_package_config_file(cmake/drover-config.cmake.in ${CMAKE_BINARY_DIR}/drover-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/drover)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/drover-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/drover-config.cmake ${CMAKE_BINARY_DIR}/drover-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/drover)
