# The include folder of the build: <adjoint/core/tensor.h> is core/tensor.h of the source tree, through links, and the
# umbrella headers are generated here. Sets ADJOINT_INCLUDE_DIR.
#   adjoint/adjoint.h   every public header above the kernels, up to models: for user programs
#   adjoint/training.h  options, runs and reports of the programs in apps/
#   adjoint/ops.h       every differentiable op
#   adjoint/contracts.h every kernel's contract
#   adjoint/build.h     what this build was configured with, for the few files that depend on it; not installed

# Of the whole build: ccache then finds for `pip install .`, where this is a part of another project, what the
# build of the programs compiled.
set(ADJOINT_INCLUDE_DIR "${CMAKE_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${ADJOINT_INCLUDE_DIR}/adjoint")
foreach(layer IN LISTS layers)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${layer}" "${ADJOINT_INCLUDE_DIR}/adjoint/${layer}" SYMBOLIC)
endforeach()
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/models/c_api/adjoint.h" "${ADJOINT_INCLUDE_DIR}/adjoint.h" SYMBOLIC)  # for C

# Writes `file` in the include folder with an #include of every header that the patterns name.
function(adjoint_list_headers file comment)
  set(patterns ${ARGN})
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" ${patterns})
  list(FILTER headers EXCLUDE REGEX "/(cpu|cuda|detail)/")
  list(TRANSFORM headers PREPEND "#include <adjoint/")
  list(TRANSFORM headers APPEND ">")
  list(JOIN headers "\n" lines)
  file(CONFIGURE OUTPUT "${ADJOINT_INCLUDE_DIR}/adjoint/${file}" @ONLY CONTENT "// ${comment} Made by the build.
#pragma once

${lines}
")
endfunction()

adjoint_list_headers(ops.h "Every differentiable op." autograd/*.h)
adjoint_list_headers(contracts.h "Every kernel's contract." kernels/*/*.h)
adjoint_list_headers(adjoint.h "Everything for a program, or the author of an op."
  core/*.h graph/*.h graph/*/*.h data/*.h data/loader/*.h autograd/*.h nn/*.h nn/*/*.h optim/*.h models/*.h)
adjoint_list_headers(training.h "Options, runs, epochs and reports of the training programs." training/*.h)

file(CONFIGURE OUTPUT "${ADJOINT_INCLUDE_DIR}/adjoint/build.h" @ONLY CONTENT "// Made by the build.
#pragma once

#define ADJOINT_VERSION \"@PROJECT_VERSION@\"
#define ADJOINT_WITH_CUDA @ADJOINT_WITH_CUDA@
#define ADJOINT_WITH_ONEDNN @ADJOINT_WITH_ONEDNN@
#define ADJOINT_CPU_V4 @ADJOINT_CPU_V4@
")
