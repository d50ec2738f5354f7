# `make package`: Debian packages of the installed files, adjoint (programs, scripts, pages) and libadjoint-dev
# (headers, static libraries, files for find_package(adjoint), examples). Programs are in CMAKE_INSTALL_BINDIR, a
# separate folder, and /usr/bin/adjoint runs them.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME adjoint)
set(CPACK_PACKAGE_CONTACT "The developers of Adjoint <adjoint@localhost.localdomain>")
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
# The library is static: two packages, adjoint and libadjoint-dev, and no separate runtime package.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL dev programs)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)  # xz saves a third, and takes minutes

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME adjoint)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS python3-h5py)  # the scripts
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION "Programs that train graph convolutional and attention networks, link predictors and graph classifiers on HDF5
datasets, convert and inspect such datasets, and predict with what they trained.")

# Dependencies of adjointConfig.cmake, for programs that link the static libraries.
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libadjoint-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libfmt-dev, libhdf5-dev, zlib1g-dev, libyaml-cpp-dev, libmetis-dev, libprotobuf-dev, libzip-dev, libsqlite3-dev")
if(ADJOINT_WITH_ONEDNN)
  string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", libdnnl-dev")
endif()
if(ADJOINT_WITH_SERD)
  string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", libserd-dev")
endif()
set(CPACK_COMPONENT_DEV_DESCRIPTION "Tensors, autograd, graph kernels, layers, optimizers, datasets and mini-batches: headers and static libraries, with
a CMake package.")

configure_file(cmake/adjoint.in "${PROJECT_BINARY_DIR}/adjoint" @ONLY)
install(PROGRAMS "${PROJECT_BINARY_DIR}/adjoint" DESTINATION bin COMPONENT programs EXCLUDE_FROM_ALL)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/copyright" CONTENT "Adjoint @PROJECT_VERSION@

Licensed under the Apache License, Version 2.0, which on Debian is in
/usr/share/common-licenses/Apache-2.0.
")
install(FILES "${PROJECT_BINARY_DIR}/copyright" DESTINATION share/doc/adjoint COMPONENT programs EXCLUDE_FROM_ALL)
install(FILES "${PROJECT_BINARY_DIR}/copyright" DESTINATION share/doc/libadjoint-dev COMPONENT dev EXCLUDE_FROM_ALL)
include(CPack)
