# `make install PREFIX=...`, find_package(drover COMPONENTS ...) and pkg-config.
include(CMakePackageConfigHelpers)
set(PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/drover)
# One file of targets per component, so that a consumer of one needs the libraries of that one only.
foreach(component ${DROVER_BUILT})
  install(TARGETS drover_${component} EXPORT drover-${component} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT drover-${component} NAMESPACE drover:: DESTINATION ${PACKAGE_FOLDER})
endforeach()
install(DIRECTORY drover DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
configure_package_config_file(cmake/drover-config.cmake.in ${PROJECT_BINARY_DIR}/drover-config.cmake
                              INSTALL_DESTINATION ${PACKAGE_FOLDER})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/drover-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/drover-config.cmake ${PROJECT_BINARY_DIR}/drover-config-version.cmake
        DESTINATION ${PACKAGE_FOLDER})

# pkg-config: drover is all components, drover-core the first. The libraries are static, so what they need is said openly.
file(RELATIVE_PATH PKGCONFIG_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(PKGCONFIG_LIBRARIES "")
set(PKGCONFIG_REQUIRES "")
foreach(component serve report tag text image)  # a library stands before those it needs
  if(component IN_LIST DROVER_BUILT)
    string(APPEND PKGCONFIG_LIBRARIES " -ldrover_${component}")
  endif()
endforeach()
if(image IN_LIST DROVER_BUILT)
  string(APPEND PKGCONFIG_REQUIRES " libpng")
endif()
if(serve IN_LIST DROVER_BUILT)
  string(APPEND PKGCONFIG_REQUIRES " cpp-httplib")
endif()
if(text IN_LIST DROVER_BUILT)
  string(APPEND PKGCONFIG_REQUIRES " icu-uc libzip")
endif()
foreach(name drover drover-core)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

if(TARGET drover_command)
  install(TARGETS drover_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(TARGET drover_reproduce)
    install(TARGETS drover_reproduce RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  if(TARGET drover_mpi)
    install(TARGETS drover_mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  # The manual pages and the completions are printed by the command itself, from its option table.
  set(GENERATED ${PROJECT_BINARY_DIR}/generated)
  set(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/manual_pages.cmake)
  add_custom_command(
    OUTPUT ${GENERATED}/drover.fish
    COMMAND ${CMAKE_COMMAND} -DDROVER=$<TARGET_FILE:drover_command> -DFOLDER=${GENERATED} -P ${SCRIPT}
    DEPENDS drover_command ${SCRIPT})
  add_custom_target(drover_manual ALL DEPENDS ${GENERATED}/drover.fish)
  if(TARGET drover_mpi)
    add_dependencies(drover_manual drover_mpi)  # all that is installed
  endif()
  install(DIRECTORY ${GENERATED}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(FILES ${GENERATED}/drover.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME drover)
  install(FILES ${GENERATED}/_drover DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${GENERATED}/drover.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
