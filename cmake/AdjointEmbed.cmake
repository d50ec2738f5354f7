# adjoint_embed(target file symbol) links the bytes of `file` into `target`. C++ sees them as
#   extern "C" const unsigned char symbol[], symbol_end[];
function(adjoint_embed target file symbol)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  set(assembly "${CMAKE_CURRENT_BINARY_DIR}/${symbol}.S")
  file(CONFIGURE OUTPUT "${assembly}" @ONLY CONTENT [[
    .section .rodata
    .balign 64
    .global @symbol@
    .global @symbol@_end
@symbol@:
    .incbin "@file@"
@symbol@_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
]])
  set_source_files_properties("${assembly}" PROPERTIES OBJECT_DEPENDS "${file}")
  target_sources(${target} PRIVATE "${assembly}")
endfunction()
