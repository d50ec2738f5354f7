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

# adjoint_cpu_v4(part source...): adds those sources that are CPU kernels to the part, compiled for AVX-512.
function(adjoint_cpu_v4 part)
  set(sources ${ARGN})
  list(FILTER sources INCLUDE REGEX "^kernels/[a-z]+/cpu/.*\\.cpp$")
  if(NOT ADJOINT_CPU_V4 OR NOT sources)
    return()
  endif()
  add_library(${part}_v4 OBJECT ${sources})
  set_target_properties(${part}_v4 PROPERTIES ADJOINT_ISA v4 INTERPROCEDURAL_OPTIMIZATION OFF)
  set_target_properties(${part}_v4 PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${part}_v4 PRIVATE -fno-semantic-interposition)
  target_compile_definitions(${part}_v4 PRIVATE $<TARGET_PROPERTY:${part},COMPILE_DEFINITIONS>)
  target_include_directories(${part}_v4 PRIVATE "${ADJOINT_INCLUDE_DIR}")
  target_link_libraries(${part}_v4 PRIVATE fmt::fmt adjoint_flags)
  if(ADJOINT_WITH_ONEDNN)
    target_link_libraries(${part}_v4 PRIVATE OneDNN::OneDNN)
  endif()
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
