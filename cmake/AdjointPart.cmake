# The parts of the library.

# adjoint_part(name source...): a library of these sources, with the settings of all parts.
function(adjoint_part name)
  set(sources ${ARGN})
  set(hopper_sources ${sources})
  list(FILTER hopper_sources INCLUDE REGEX "\\.sm_90a\\.cu$")
  list(FILTER sources EXCLUDE REGEX "\\.sm_90a\\.cu$")
  add_library(${name} ${sources})
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${ADJOINT_INCLUDE_DIR}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  # Position independent, for shared objects that link the library (python/). Calls within a file stay direct.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>")
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_compile_definitions(${name} PRIVATE
    ADJOINT_VERSION="${PROJECT_VERSION}"
    ADJOINT_WITH_CUDA=${ADJOINT_WITH_CUDA}
    ADJOINT_WITH_ONEDNN=${ADJOINT_WITH_ONEDNN}
    ADJOINT_CPU_V4=${ADJOINT_CPU_V4})
  target_link_libraries(${name}
    PUBLIC fmt::fmt
    PRIVATE $<BUILD_INTERFACE:adjoint_flags>)
  adjoint_cpu_v4(${name} ${sources})
  if(NOT ADJOINT_WITH_CUDA)
    return()
  endif()
  target_link_libraries(${name} PRIVATE CUDA::cudart CUDA::cublas CUDA::cublasLt)
  if(NOT hopper_sources)
    return()
  endif()
  # Kernels with instructions of compute capability 9.0 only, whatever the other targets.
  add_library(${name}_hopper OBJECT ${hopper_sources})
  set_target_properties(${name}_hopper PROPERTIES CUDA_ARCHITECTURES OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${name}_hopper PRIVATE --generate-code=arch=compute_90a,code=sm_90a)
  target_compile_definitions(${name}_hopper PRIVATE $<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>)
  target_include_directories(${name}_hopper PRIVATE "${ADJOINT_INCLUDE_DIR}")
  target_link_libraries(${name}_hopper PRIVATE fmt::fmt CUDA::cudart adjoint_flags)
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:${name}_hopper>)
endfunction()

# adjoint_dispatch(part ONLY|EXCEPT family...) defines the kernel entries of these families, or of all others, in that
# part (kernels/detail/dispatch.h). Contracts of other families are declared first.
function(adjoint_dispatch part kind)
  list(JOIN ARGN "|" families)
  file(GLOB own CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" kernels/*/*.h)
  list(FILTER own EXCLUDE REGEX "^kernels/(cpu|cuda|detail)/")
  set(declared)
  if(kind STREQUAL "ONLY")
    set(declared ${own})
    list(FILTER declared EXCLUDE REGEX "^kernels/(${families})/")
    list(FILTER own INCLUDE REGEX "^kernels/(${families})/")
  else()
    list(FILTER own EXCLUDE REGEX "^kernels/(${families})/")
  endif()
  set(lines)
  foreach(header ${declared} kernels/detail/dispatch.h ${own})
    string(APPEND lines "#include <adjoint/${header}>\n")
  endforeach()
  set(file "${PROJECT_BINARY_DIR}/dispatch/${part}.cpp")
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT "// Made by the build.\n${lines}")
  target_sources(${part} PRIVATE "${file}")
endfunction()
