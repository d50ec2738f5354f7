# cmake --install: library, headers, programs, and what find_package(adjoint) reads.

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/adjoint")

install(TARGETS adjoint EXPORT adjointTargets FILE_SET HEADERS)
install(EXPORT adjointTargets NAMESPACE adjoint:: DESTINATION "${package_dir}")
get_target_property(library_type adjoint TYPE)
configure_package_config_file(cmake/adjointConfig.cmake.in adjointConfig.cmake INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(adjointConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/adjointConfig.cmake" "${PROJECT_BINARY_DIR}/adjointConfigVersion.cmake"
  cmake/FindOneDNN.cmake DESTINATION "${package_dir}")
