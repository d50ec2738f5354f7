#include <adjoint/core/error.h>
#include <adjoint/kernels/dense/cuda/cublas_lt.h>

namespace adj::kernels::cuda {

const CublasLt& cublas_lt() {
  static const CublasLt functions{SharedLibrary(fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR))};
  return functions;
}

void check_cublas(cublasStatus_t status, const char* call) {
  ADJ_CHECK(status == CUBLAS_STATUS_SUCCESS, "cuBLAS error {} ({}) from {}",
            cublas_lt().cublasLtGetStatusName(status), cublas_lt().cublasLtGetStatusString(status), call);
}

}  // namespace adj::kernels::cuda
