# cmake --install: library, headers, programs, and what find_package(adjoint) reads.

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/adjoint")

install(TARGETS adjoint EXPORT adjointTargets)
# The devices' own sides, and what stands in a folder detail/, are no interface.
foreach(layer IN LISTS layers)
  install(DIRECTORY ${layer}/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/adjoint/${layer}" FILES_MATCHING PATTERN "*.h"
    REGEX "/(cpu|cuda|no_cuda|detail|hdf5_child)$" EXCLUDE)
endforeach()
install(FILES "${ADJOINT_INCLUDE_DIR}/adjoint/adjoint.h" "${ADJOINT_INCLUDE_DIR}/adjoint/ops.h"
  "${ADJOINT_INCLUDE_DIR}/adjoint/contracts.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/adjoint")
install(EXPORT adjointTargets NAMESPACE adjoint:: DESTINATION "${package_dir}")
get_target_property(library_type adjoint TYPE)
configure_package_config_file(cmake/adjointConfig.cmake.in adjointConfig.cmake INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(adjointConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/adjointConfig.cmake" "${PROJECT_BINARY_DIR}/adjointConfigVersion.cmake"
  cmake/FindOneDNN.cmake cmake/FindMETIS.cmake cmake/FindLibZip.cmake DESTINATION "${package_dir}")
