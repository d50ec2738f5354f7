#include "cusparse.h"

#include <adjoint/core/error.h>

#ifdef ADJOINT_HAS_CUSPARSE
#include <adjoint/core/cuda/stream.h>
#include <adjoint/core/shared_library.h>

#include <memory>

#include <cusparse.h>
#include <fmt/format.h>
#endif

namespace adj::ops {

#ifdef ADJOINT_HAS_CUSPARSE

namespace {

/// cuSPARSE, of the major version that this was compiled with: loaded by the first product, as cuBLASLt is.
struct Cusparse {
  SharedLibrary library;
#define ADJ_FUNCTION(name) decltype(::name)* name = library.function<decltype(::name)>(#name)
  ADJ_FUNCTION(cusparseCreate);
  ADJ_FUNCTION(cusparseCreateCsr);
  ADJ_FUNCTION(cusparseCreateDnMat);
  ADJ_FUNCTION(cusparseDestroy);
  ADJ_FUNCTION(cusparseDestroyDnMat);
  ADJ_FUNCTION(cusparseDestroySpMat);
  ADJ_FUNCTION(cusparseGetErrorString);
  ADJ_FUNCTION(cusparseSDDMM);
  ADJ_FUNCTION(cusparseSDDMM_bufferSize);
  ADJ_FUNCTION(cusparseSDDMM_preprocess);
  ADJ_FUNCTION(cusparseSetStream);
  ADJ_FUNCTION(cusparseSpMM);
  ADJ_FUNCTION(cusparseSpMM_bufferSize);
  ADJ_FUNCTION(cusparseSpMM_preprocess);
#undef ADJ_FUNCTION
};
const Cusparse& library() {
  static const Cusparse functions{SharedLibrary(fmt::format("libcusparse.so.{}", CUSPARSE_VER_MAJOR))};
  return functions;
}

void check(cusparseStatus_t status, const char* call) {
  ADJ_CHECK(status == CUSPARSE_STATUS_SUCCESS, "cuSPARSE: {}: {}", call,
            library().cusparseGetErrorString(status));
}

struct Closed {
  void operator()(cusparseContext* handle) const { (void)library().cusparseDestroy(handle); }
  void operator()(cusparseSpMatDescr* matrix) const { (void)library().cusparseDestroySpMat(matrix); }
  void operator()(cusparseDnMatDescr* matrix) const { (void)library().cusparseDestroyDnMat(matrix); }
};

cudaDataType type_of(const Tensor& tensor) {
  ADJ_CHECK(tensor.dtype() == DType::f32 || tensor.dtype() == DType::bf16,
            "cuSPARSE: {}, expected float32 or bfloat16", tensor.str());
  return tensor.dtype() == DType::f32 ? CUDA_R_32F : CUDA_R_16BF;
}

/// Handle, descriptors and workspace of one product.
struct Product {
  Product(const Csr& csr, const Tensor& values, const Tensor& first, const Tensor& second)
      : tensors{csr.offsets.to(DType::i32), csr.indices, values, first, second}, device(csr.device()) {
    for (const Tensor& tensor : tensors)
      ADJ_CHECK(tensor.device() == device && device.is_cuda(), "cuSPARSE: a tensor on {}, expected a GPU's",
                tensor.device().str());
    ADJ_CHECK(csr.entries() <= INT32_MAX, "cuSPARSE: {} entries, expected fewer than 2^31", csr.entries());
    cusparseHandle_t context = nullptr;
    check(library().cusparseCreate(&context), "cusparseCreate");
    handle.reset(context);
    cusparseSpMatDescr_t matrix = nullptr;
    check(library().cusparseCreateCsr(&matrix, csr.rows, csr.cols, csr.entries(), address(0), address(1),
                                      address(2), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                      CUSPARSE_INDEX_BASE_ZERO, type_of(values)),
          "cusparseCreateCsr");
    sparse.reset(matrix);
    for (size_t k = 0; k < 2; ++k) {
      const Tensor& dense = tensors[3 + k];
      cusparseDnMatDescr_t rows = nullptr;
      check(library().cusparseCreateDnMat(&rows, dense.size(0), dense.size(1), dense.size(1), address(3 + k),
                                          type_of(dense), CUSPARSE_ORDER_ROW),
            "cusparseCreateDnMat");
      matrices[k].reset(rows);
    }
  }
  void* address(size_t k) const { return const_cast<void*>(tensors[k].raw_data()); }
  void on_stream() const {
    check(library().cusparseSetStream(handle.get(), cuda::current_stream(device.index)), "cusparseSetStream");
  }
  void make_workspace(size_t bytes) {
    workspace = Tensor::empty({static_cast<int64_t>(bytes) + 1}, DType::u8, device);
  }

  Tensor tensors[5], workspace;
  Device device;
  std::unique_ptr<cusparseContext, Closed> handle;
  std::unique_ptr<cusparseSpMatDescr, Closed> sparse;
  std::unique_ptr<cusparseDnMatDescr, Closed> matrices[2];
  float one = 1.0F, zero = 0.0F;
};

}  // namespace

bool has_cusparse() { return true; }

std::function<void()> cusparse_spmm(const Csr& a, const Tensor& values, const Tensor& x, const Tensor& y) {
  const auto p = std::make_shared<Product>(a, values, x, y);
  // For rows that lie one after another.
  constexpr auto kAlgorithm = CUSPARSE_SPMM_CSR_ALG2;
  constexpr auto kAsIs = CUSPARSE_OPERATION_NON_TRANSPOSE;
  size_t bytes = 0;
  p->on_stream();
  check(library().cusparseSpMM_bufferSize(p->handle.get(), kAsIs, kAsIs, &p->one, p->sparse.get(),
                                          p->matrices[0].get(), &p->zero, p->matrices[1].get(), CUDA_R_32F,
                                          kAlgorithm, &bytes),
        "cusparseSpMM_bufferSize");
  p->make_workspace(bytes);
  check(library().cusparseSpMM_preprocess(p->handle.get(), kAsIs, kAsIs, &p->one, p->sparse.get(),
                                          p->matrices[0].get(), &p->zero, p->matrices[1].get(), CUDA_R_32F,
                                          kAlgorithm, p->workspace.raw_mutable_data()),
        "cusparseSpMM_preprocess");
  return [p] {
    p->on_stream();
    check(library().cusparseSpMM(p->handle.get(), kAsIs, kAsIs, &p->one, p->sparse.get(),
                                 p->matrices[0].get(), &p->zero, p->matrices[1].get(), CUDA_R_32F, kAlgorithm,
                                 p->workspace.raw_mutable_data()),
          "cusparseSpMM");
  };
}

std::function<void()> cusparse_sddmm(const Csr& a, const Tensor& y, const Tensor& x, const Tensor& dw) {
  const auto p = std::make_shared<Product>(a, dw, y, x);
  constexpr auto kAsIs = CUSPARSE_OPERATION_NON_TRANSPOSE, kTransposed = CUSPARSE_OPERATION_TRANSPOSE;
  size_t bytes = 0;
  p->on_stream();
  check(library().cusparseSDDMM_bufferSize(p->handle.get(), kAsIs, kTransposed, &p->one, p->matrices[0].get(),
                                           p->matrices[1].get(), &p->zero, p->sparse.get(), CUDA_R_32F,
                                           CUSPARSE_SDDMM_ALG_DEFAULT, &bytes),
        "cusparseSDDMM_bufferSize");
  p->make_workspace(bytes);
  check(library().cusparseSDDMM_preprocess(p->handle.get(), kAsIs, kTransposed, &p->one, p->matrices[0].get(),
                                           p->matrices[1].get(), &p->zero, p->sparse.get(), CUDA_R_32F,
                                           CUSPARSE_SDDMM_ALG_DEFAULT, p->workspace.raw_mutable_data()),
        "cusparseSDDMM_preprocess");
  return [p] {
    p->on_stream();
    check(library().cusparseSDDMM(p->handle.get(), kAsIs, kTransposed, &p->one, p->matrices[0].get(),
                                  p->matrices[1].get(), &p->zero, p->sparse.get(), CUDA_R_32F,
                                  CUSPARSE_SDDMM_ALG_DEFAULT, p->workspace.raw_mutable_data()),
          "cusparseSDDMM");
  };
}

#else

namespace {
[[noreturn]] void refuse() { fail("cuSPARSE: this build has none, expected one with CUDA"); }
}  // namespace

bool has_cusparse() { return false; }
std::function<void()> cusparse_spmm(const Csr&, const Tensor&, const Tensor&, const Tensor&) { refuse(); }
std::function<void()> cusparse_sddmm(const Csr&, const Tensor&, const Tensor&, const Tensor&) { refuse(); }

#endif

}  // namespace adj::ops
