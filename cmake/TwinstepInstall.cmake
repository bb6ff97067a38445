# SPDX-License-Identifier: MIT
# Installs headers, libraries, the command and a CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(twinstep_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/twinstep")

# twinstep_build is absent on purpose: our warnings and sanitizers are nobody else's business.
get_property(twinstep_modules GLOBAL PROPERTY TWINSTEP_MODULES)
install(
    TARGETS twinstep_determinism ${twinstep_modules}
    EXPORT twinstep-targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
)
if(TARGET twinstep_command)
    install(TARGETS twinstep_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

install(
    EXPORT twinstep-targets
    NAMESPACE twinstep::
    DESTINATION "${twinstep_package_dir}"
)
configure_package_config_file(
    cmake/twinstep-config.cmake.in "${PROJECT_BINARY_DIR}/twinstep-config.cmake"
    INSTALL_DESTINATION "${twinstep_package_dir}"
    NO_SET_AND_CHECK_MACRO
)
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/twinstep-config-version.cmake" COMPATIBILITY SameMinorVersion
)
install(
    FILES "${PROJECT_BINARY_DIR}/twinstep-config.cmake"
          "${PROJECT_BINARY_DIR}/twinstep-config-version.cmake"
          cmake/TwinstepGame.cmake
          cmake/TwinstepRecordingTests.cmake
          cmake/TwinstepWall.cmake
    DESTINATION "${twinstep_package_dir}"
)
