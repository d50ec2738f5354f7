# Links OBJECTS into OUTPUT, renames kernels::cpu to kernels::cpu_v4, and keeps global only that namespace's functions,
# and variables of headers that all copies must share (switches, thread-local state). Their initial values may not point
# to code; vtables and constants, which may, become local.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE output)
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("${LINKER}" -r --force-group-allocation -T "${SCRIPT}" -o "${OUTPUT}" ${OBJECTS})
run("${OBJDUMP}" -h "${OUTPUT}")
if(output MATCHES " \\.(init_array|ctors|preinit_array)")
  message(FATAL_ERROR "${OUTPUT}: a CPU kernel has a global object with a constructor, which would run AVX-512 code on any CPU")
endif()

run("${OBJDUMP}" -t "${OUTPUT}")
set(renamed)
set(kept)
# A defined symbol: address, seven flags (w: weak, u: unique), section, size, name.
string(REGEX MATCHALL "[^\n]*(3adj7kernels3cpu|[wu]....O \\.(bss|data|tbss|tdata))[^\n]*" lines "${output}")
foreach(line IN LISTS lines)
  string(REGEX REPLACE ".*[ \t]" "" name "${line}")
  if(line MATCHES "^[0-9a-f]+ l")  # local already
    continue()
  endif()
  if(name MATCHES "^_Z[A-Z]*N?K?3adj7kernels3cpu")
    string(REPLACE "3adj7kernels3cpu" "3adj7kernels6cpu_v4" new "${name}")
    string(APPEND renamed "${name} ${new}\n")
    string(APPEND kept "${new}\n")
  elseif(line MATCHES "[wu]....O \\.(bss|data|tbss|tdata)" AND NOT line MATCHES "\\.data\\.rel\\.ro")
    string(APPEND kept "${name}\n")
  endif()
endforeach()
file(WRITE "${OUTPUT}.renamed" "${renamed}")
file(WRITE "${OUTPUT}.kept" "${kept}")
run("${OBJCOPY}" "--redefine-syms=${OUTPUT}.renamed" "--keep-global-symbols=${OUTPUT}.kept" "${OUTPUT}")
