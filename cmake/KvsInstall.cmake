# What `cmake --install` puts into a prefix: the library, its headers, a CMake package, a pkg-config
# file, and the programs. Users write find_package(kvstream) and link kvstream::kvstream.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kvstream")

install(TARGETS kvstream EXPORT kvstream-targets
  ARCHIVE COMPONENT development
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
  FILE_SET HEADERS COMPONENT development)
install(EXPORT kvstream-targets NAMESPACE kvstream:: DESTINATION ${package_dir}
  COMPONENT development)

get_target_property(library_type kvstream TYPE)
if(library_type STREQUAL "STATIC_LIBRARY")
  set(KVSTREAM_IS_STATIC ON)  # its archive does not carry what it links; see the config file
else()
  set(KVSTREAM_IS_STATIC OFF)
endif()
set(uring_requirement "")
if(KVSTREAM_WITH_URING)
  set(uring_requirement ", liburing")
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/kvstream-config.cmake.in"
  "${PROJECT_BINARY_DIR}/kvstream-config.cmake" INSTALL_DESTINATION ${package_dir})
# Until 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/kvstream-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
configure_file("${PROJECT_SOURCE_DIR}/cmake/kvstream.pc.in" "${PROJECT_BINARY_DIR}/kvstream.pc"
  @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/kvstream-config.cmake"
  "${PROJECT_BINARY_DIR}/kvstream-config-version.cmake"
  DESTINATION ${package_dir} COMPONENT development)
install(FILES "${PROJECT_BINARY_DIR}/kvstream.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)

set(programs kvstream_cli kvsim_cli)
install(TARGETS ${programs} RUNTIME COMPONENT runtime)
# Examples to begin a device file with, and the page that draws what kvsim says.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/devices" DESTINATION "${CMAKE_INSTALL_DATADIR}/kvstream"
  COMPONENT runtime)
install(PROGRAMS "${PROJECT_SOURCE_DIR}/tools/plot/kvsim_report.py"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/kvstream" COMPONENT runtime)

# Builds exactly what an installation needs.
add_custom_target(kvs_installed DEPENDS kvstream ${programs})
