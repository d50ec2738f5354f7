# Build type, output folders, ccache, the target adjoint_flags: warnings of all targets, and ADJOINT_KERNEL_FLAGS: additional
# flags for CPU kernels.

get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
  if(BUILD_SHARED_LIBS)  # for the programs
    file(RELATIVE_PATH relative "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
    set(CMAKE_INSTALL_RPATH "$ORIGIN/${relative}")
  endif()
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

find_program(ADJOINT_CCACHE ccache)
mark_as_advanced(ADJOINT_CCACHE)
if(ADJOINT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # With a base folder, a second clone finds the objects of the first one. ccache requires the sloppiness for
  # precompiled headers.
  set(launcher "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros "${ADJOINT_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
  # For targets with a precompiled header. Found by its preprocessed text, one from before a comment changed would be
  # returned, and that knows the header's `#pragma once` no longer. So it is found by the files that it was made from,
  # among those that were stored in this way.
  set(ADJOINT_PCH_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_DEPEND=1 CCACHE_NAMESPACE=depend ${launcher})
endif()

add_library(adjoint_flags INTERFACE)
set(cxx_flags -Wall -Wextra -Wpedantic -Wshadow -fno-math-errno -fno-trapping-math
  -fopenmp-simd)  # only OpenMP's simd pragmas, without threads or its library
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND cxx_flags -Wno-restrict)  # sees overlaps in std::string that are not there (GCC bug 105651)
endif()

# Loops over numbers are in kernels/*/cpu alone, which get these flags and -O3; the rest is the same for every CPU, so
# trees for this machine and for any share its objects in ccache.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
# Who asks nvcc for a fast compile gets it for the host's part of its files too, half of their time.
if("$ENV{CUDAFLAGS} ${CMAKE_CUDA_FLAGS}" MATCHES "--Ofast-compile=max")
  set(CMAKE_CUDA_FLAGS_RELEASE "-O0 -DNDEBUG")
endif()
set(ADJOINT_CPU_V4 0)
set(ADJOINT_KERNEL_FLAGS "$<$<CONFIG:Release>:-O3>")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  if(ADJOINT_NATIVE)
    list(APPEND ADJOINT_KERNEL_FLAGS -march=native)
    include(CheckCXXSourceCompiles)
    set(CMAKE_REQUIRED_FLAGS -march=native)
    check_cxx_source_compiles("
      #ifndef __AVX512F__
      #error no AVX-512
      #endif
      int main() {}" ADJOINT_CPU_HAS_AVX512)
    unset(CMAKE_REQUIRED_FLAGS)
    if(ADJOINT_CPU_HAS_AVX512)
      list(APPEND ADJOINT_KERNEL_FLAGS -mprefer-vector-width=512)
    endif()
  else()
    # Vectors of 64 bytes stay within a translation unit (kernels/cpu/simd.h), which has a pragma for this warning too;
    # it does not cover code emitted at the end of the unit.
    set(ADJOINT_CPU_V4 1)
    list(APPEND ADJOINT_KERNEL_FLAGS -Wno-psabi)
    set(ADJOINT_KERNEL_FLAGS_V4 ${ADJOINT_KERNEL_FLAGS} -march=x86-64-v4 -mprefer-vector-width=512 -fno-gnu-unique)
    list(APPEND ADJOINT_KERNEL_FLAGS -march=x86-64-v3)
  endif()
elseif(ADJOINT_NATIVE)
  list(APPEND ADJOINT_KERNEL_FLAGS -mcpu=native)
endif()

# nvcc's generated host code does not pass -Wpedantic.
target_compile_options(adjoint_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${cxx_flags}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--extended-lambda;-Xcompiler=-Wall,-Wextra>")
