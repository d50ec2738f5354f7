# cmake --install: library, headers, programs, and what find_package(adjoint) and pkg-config read.

include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)  # else programs: AdjointPackage.cmake has them apart
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/adjoint")

install(TARGETS adjoint adjoint_base adjoint_layers adjoint_import EXPORT adjointTargets)
# Folders of one device, and detail/, are not public; public headers include nothing from there.
set(private "/(cpu|cuda|no_cuda|detail|hdf5_child)")
foreach(layer IN LISTS layers)
  install(DIRECTORY ${layer}/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/adjoint/${layer}" FILES_MATCHING PATTERN "*.h"
    REGEX "${private}$" EXCLUDE)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" ${layer}/*.h)
  list(FILTER headers EXCLUDE REGEX "${private}/")
  foreach(header IN LISTS headers)
    file(STRINGS ${header} lines REGEX "#include .adjoint/(build.h|.*${private}/)")
    if(lines)
      message(FATAL_ERROR "${header} is installed, but not what it includes: ${lines}")
    endif()
  endforeach()
endforeach()
install(FILES "${ADJOINT_INCLUDE_DIR}/adjoint/adjoint.h" "${ADJOINT_INCLUDE_DIR}/adjoint/ops.h"
  "${ADJOINT_INCLUDE_DIR}/adjoint/contracts.h" "${ADJOINT_INCLUDE_DIR}/adjoint/training.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/adjoint")
install(FILES models/c_api/adjoint.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT programs)
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs" COMPONENT programs)
install(FILES data/README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/data" COMPONENT programs)
install(PROGRAMS data/to_adjoint.py data/from_adjoint.py data/fetch.sh DESTINATION "${CMAKE_INSTALL_DATADIR}/adjoint/scripts"
  COMPONENT programs)
install(DIRECTORY tests/consumer/ DESTINATION "${CMAKE_INSTALL_DATADIR}/adjoint/examples")
install(FILES apps/first_gcn.cpp DESTINATION "${CMAKE_INSTALL_DATADIR}/adjoint/examples")
install(EXPORT adjointTargets NAMESPACE adjoint:: DESTINATION "${package_dir}")
get_target_property(library_type adjoint_base TYPE)
configure_package_config_file(cmake/adjointConfig.cmake.in adjointConfig.cmake INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(adjointConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/adjointConfig.cmake" "${PROJECT_BINARY_DIR}/adjointConfigVersion.cmake"
  cmake/FindOneDNN.cmake cmake/FindMETIS.cmake cmake/FindLibZip.cmake cmake/FindSerd.cmake DESTINATION "${package_dir}")

# Moves with the installed files. As in adjointConfig.cmake, a static library leaves linking what it uses to the program,
# here also that of C.
set(pc_libraries)
if(library_type STREQUAL "STATIC_LIBRARY")
  set(pc_libraries ${HDF5_C_LIBRARIES} ${METIS_LIBRARY} ${LibZip_LIBRARY} ${ZLIB_LIBRARIES} ${SQLite3_LIBRARIES} -lyaml-cpp -lprotobuf-lite)
  if(ADJOINT_WITH_ONEDNN)
    list(APPEND pc_libraries ${OneDNN_LIBRARY})
  endif()
  if(ADJOINT_WITH_SERD)
    list(APPEND pc_libraries ${Serd_LIBRARY})
  endif()
  if(ADJOINT_WITH_CUDA)
    list(APPEND pc_libraries "-L${CUDAToolkit_LIBRARY_DIR}" -lcudart)
  endif()
  list(APPEND pc_libraries -lstdc++ -lm -lpthread -ldl)
  list(REMOVE_DUPLICATES pc_libraries)
  list(JOIN pc_libraries " " pc_libraries)
endif()
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE pc_prefix)
configure_file(cmake/adjoint.pc.in adjoint.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/adjoint.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
