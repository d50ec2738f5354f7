# One library for every x86-64 CPU with AVX2 (ADJOINT_NATIVE=OFF): the CPU kernels are compiled a second time, for
# AVX-512, and selected at run time (core/isa.h).
#
# The sources need no change. The second objects of a part are linked into one, in which namespace
# kernels::cpu is renamed to kernels::cpu_v4 and all other code is local. That is what makes it safe:
# templates and inline functions of the standard library, of fmt and of our headers have one definition in a
# program, and the linker would take any, so that a CPU without AVX-512 would meet AVX-512 in std::vector.
# tests/isa_check.sh looks at the result.
#
# Alternatives: with Google Highway every kernel would be rewritten with its vectors (ours are loops that the compiler
# vectorises, and GCC vectors); Eigen has only products, for the instruction set it is compiled for, and takes up to 2.7
# times as long as oneDNN on narrow ones; function multi-versioning does not reach templates and code inlined into them.

# adjoint_cpu_kernels(part source...): adds these sources to the part, compiled with ADJOINT_KERNEL_FLAGS, and where
# ADJOINT_CPU_V4 is set a second time, for AVX-512.
function(adjoint_cpu_kernels part)
  adjoint_kernel_objects(${part}_kernels ${ARGN})
  target_compile_options(${part}_kernels PRIVATE ${ADJOINT_KERNEL_FLAGS})
  target_sources(${part} PRIVATE $<TARGET_OBJECTS:${part}_kernels>)
  if(NOT ADJOINT_CPU_V4)
    return()
  endif()
  set(sources ${ARGN})
  list(FILTER sources INCLUDE REGEX "^kernels/")
  adjoint_kernel_objects(${part}_v4 ${sources})
  set_target_properties(${part}_v4 PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  target_compile_options(${part}_v4 PRIVATE ${ADJOINT_KERNEL_FLAGS_V4})
  set(object "${PROJECT_BINARY_DIR}/isa/${part}_v4.o")
  add_custom_command(OUTPUT "${object}"
    COMMAND "${CMAKE_COMMAND}" "-DLINKER=${CMAKE_LINKER}" "-DOBJCOPY=${CMAKE_OBJCOPY}" "-DOBJDUMP=${CMAKE_OBJDUMP}"
      "-DSCRIPT=${PROJECT_SOURCE_DIR}/cmake/isa_object.ld" "-DOUTPUT=${object}"
      "-DOBJECTS=$<TARGET_OBJECTS:${part}_v4>" -P "${PROJECT_SOURCE_DIR}/cmake/isa_object.cmake"
    DEPENDS "$<TARGET_OBJECTS:${part}_v4>" "${PROJECT_SOURCE_DIR}/cmake/isa_object.cmake"
      "${PROJECT_SOURCE_DIR}/cmake/isa_object.ld"
    COMMENT "Isolating the AVX-512 kernels of ${part}" VERBATIM)
  target_sources(${part} PRIVATE "${object}")
endfunction()

# adjoint_kernel_objects(target source...): what the two sets of objects have in common.
function(adjoint_kernel_objects target)
  add_library(${target} OBJECT ${ARGN})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  target_include_directories(${target} PRIVATE "${ADJOINT_INCLUDE_DIR}")
  target_link_libraries(${target} PRIVATE fmt::fmt adjoint_flags)
  if(ADJOINT_WITH_ONEDNN)
    target_link_libraries(${target} PRIVATE OneDNN::OneDNN)
  endif()
endfunction()
