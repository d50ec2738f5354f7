# Target Serd::Serd, of serd 0 (Debian's libserd-dev), which comes with a file for pkg-config only.

find_path(Serd_INCLUDE_DIR serd/serd.h PATH_SUFFIXES serd-0)
find_library(Serd_LIBRARY serd-0)
mark_as_advanced(Serd_INCLUDE_DIR Serd_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Serd REQUIRED_VARS Serd_LIBRARY Serd_INCLUDE_DIR)

if(Serd_FOUND AND NOT TARGET Serd::Serd)
  add_library(Serd::Serd UNKNOWN IMPORTED)
  set_target_properties(Serd::Serd PROPERTIES
    IMPORTED_LOCATION "${Serd_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Serd_INCLUDE_DIR}")
endif()
