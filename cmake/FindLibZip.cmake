# Target LibZip::LibZip. Debian's own libzip-config.cmake requires libzip's programs, which are not needed.

find_path(LibZip_INCLUDE_DIR zip.h)
find_library(LibZip_LIBRARY zip)
mark_as_advanced(LibZip_INCLUDE_DIR LibZip_LIBRARY)

if(LibZip_INCLUDE_DIR AND EXISTS "${LibZip_INCLUDE_DIR}/zipconf.h")
  file(STRINGS "${LibZip_INCLUDE_DIR}/zipconf.h" LibZip_VERSION REGEX "#define LIBZIP_VERSION \"")
  string(REGEX REPLACE ".*\"([^\"]+)\".*" "\\1" LibZip_VERSION "${LibZip_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibZip REQUIRED_VARS LibZip_LIBRARY LibZip_INCLUDE_DIR VERSION_VAR LibZip_VERSION)

if(LibZip_FOUND AND NOT TARGET LibZip::LibZip)
  add_library(LibZip::LibZip UNKNOWN IMPORTED)
  set_target_properties(LibZip::LibZip PROPERTIES
    IMPORTED_LOCATION "${LibZip_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${LibZip_INCLUDE_DIR}")
endif()
