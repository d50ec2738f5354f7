#pragma once

#include <adjoint/core/shared_library.h>

#include <cublasLt.h>

namespace adj::kernels::cuda {

/// cuBLASLt, of the major version that this was compiled with, by the names of its functions.
struct CublasLt {
  SharedLibrary library;
#define ADJ_FUNCTION(name) decltype(::name)* name = library.function<decltype(::name)>(#name)
  ADJ_FUNCTION(cublasLtCreate);
  ADJ_FUNCTION(cublasLtGetStatusName);
  ADJ_FUNCTION(cublasLtGetStatusString);
  ADJ_FUNCTION(cublasLtMatmul);
  ADJ_FUNCTION(cublasLtMatmulAlgoGetHeuristic);
  ADJ_FUNCTION(cublasLtMatmulDescCreate);
  ADJ_FUNCTION(cublasLtMatmulDescDestroy);
  ADJ_FUNCTION(cublasLtMatmulDescSetAttribute);
  ADJ_FUNCTION(cublasLtMatmulPreferenceCreate);
  ADJ_FUNCTION(cublasLtMatmulPreferenceDestroy);
  ADJ_FUNCTION(cublasLtMatmulPreferenceSetAttribute);
  ADJ_FUNCTION(cublasLtMatrixLayoutCreate);
  ADJ_FUNCTION(cublasLtMatrixLayoutDestroy);
  ADJ_FUNCTION(cublasLtMatrixLayoutSetAttribute);
#undef ADJ_FUNCTION
};

/// Loads the library on the first call. Throws Error if it cannot be loaded, or lacks a function.
const CublasLt& cublas_lt();

/// Throws Error with the call's text unless the status is CUBLAS_STATUS_SUCCESS.
void check_cublas(cublasStatus_t status, const char* call);

}  // namespace adj::kernels::cuda

/// Calls a function of cuBLASLt: ADJ_CUBLAS(cublasLtCreate(&handle)).
#define ADJ_CUBLAS(...) \
  ::adj::kernels::cuda::check_cublas(::adj::kernels::cuda::cublas_lt().__VA_ARGS__, #__VA_ARGS__)
