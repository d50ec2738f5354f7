// cuSPARSE wants offsets and columns of one integer type, so that 32-bit offsets are made and kept. None of
// its CSR algorithms gave the same bits from run to run when tried on skewed graphs (CUDA 13.0, widths of 16
// and more, ALG3 included), so it serves on request only; ALG2 is the fastest of them for row-major features.

#include <adjoint/core/convert.h>
#include <adjoint/core/cuda/check_libraries.h>
#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/aggregate/cuda/spmm_strategies.h>

#include <map>
#include <memory>
#include <tuple>

namespace adj::kernels::cuda {

namespace {

constexpr cusparseSpMMAlg_t kAlgorithm = CUSPARSE_SPMM_CSR_ALG2;
constexpr cusparseOperation_t kPlain = CUSPARSE_OPERATION_NON_TRANSPOSE;

__global__ void narrow_offsets(const int64_t* from, int64_t n, int32_t* to) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) to[i] = static_cast<int32_t>(from[i]);
}

template <class T>
__global__ void gather_values(const T* from, const int32_t* order, int64_t n, T* to) {
  const int64_t e = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (e < n) to[e] = from == nullptr ? T(1) : from[order[e]];
}

/// One handle per thread and device: a handle holds the stream of the call.
cusparseHandle_t handle(int device) {
  thread_local std::map<int, cusparseHandle_t> handles;
  auto found = handles.find(device);
  if (found == handles.end()) {
    const adj::cuda::RelaxedCapture relaxed;
    cusparseHandle_t made = nullptr;
    ADJ_CUSPARSE_CHECK(cusparseCreate(&made));
    found = handles.emplace(device, made).first;
  }
  ADJ_CUSPARSE_CHECK(cusparseSetStream(found->second, adj::cuda::current_stream(device)));
  return found->second;
}

cudaDataType cuda_type(DType dtype) {
  return dtype == DType::f64 ? CUDA_R_64F : dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

/// What cuSPARSE keeps for one width and dtype of X and Y on one stream, whose workspace it is.
struct Product {
  cusparseSpMatDescr_t a = nullptr;
  cusparseDnMatDescr_t x = nullptr, y = nullptr;
  Tensor workspace;

  Product() = default;
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  ~Product() {
    if (a != nullptr) (void)cusparseDestroySpMat(a);
    if (x != nullptr) (void)cusparseDestroyDnMat(x);
    if (y != nullptr) (void)cusparseDestroyDnMat(y);
  }
};

struct KeptProducts {
  std::mutex mutex;
  Tensor offsets;                                                                // int32
  std::map<std::tuple<int64_t, DType, int>, std::unique_ptr<Product>> products;  // complete ones
};

/// 1 and 0 of the type that is computed in.
struct Scalars {
  float one = 1.0f, zero = 0.0f;
  double one_double = 1.0, zero_double = 0.0;
  DType dtype;
  const void* alpha() const { return dtype == DType::f64 ? static_cast<const void*>(&one_double) : &one; }
  const void* beta() const { return dtype == DType::f64 ? static_cast<const void*>(&zero_double) : &zero; }
};

void* address(const Tensor& tensor) { return const_cast<void*>(tensor.raw_data()); }

}  // namespace

void cusparse_spmm(const CsrMatrix& a, const Tensor& x, Tensor& y) {
  const Csr& csr = a.csr;
  const Device device = csr.device();
  const int64_t entries = csr.entries(), width = x.size(1);
  const DType dtype = x.dtype(), value_dtype = dtype == DType::f64 ? DType::f64 : DType::f32;
  adj::cuda::use_device(device.index);
  const auto kept = csr.cache->table<KeptProducts>();
  const std::lock_guard lock(kept->mutex);
  const std::tuple key{width, dtype, Stream::current(device).id()};
  const auto found = kept->products.find(key);
  const bool first = found == kept->products.end();
  ADJ_CHECK(!first || !adj::cuda::capturing(device.index),
            "spmm: cuSPARSE has to have seen this structure and width {} before it can be captured", width);

  // bfloat16 features ask for bfloat16 values. The result is taken in float32: into bfloat16 cuSPARSE adds
  // the parts of a heavy row one by one, each time rounding.
  Tensor result = dtype == DType::bf16 ? Tensor::empty(y.shape(), DType::f32, device) : y;
  Tensor values = a.values;
  if (!values || a.order) {
    values = Tensor::empty({entries}, value_dtype, device);
    const adj::cuda::LaunchShape shape{.device = device.index, .blocks = adj::cuda::blocks_for(entries)};
    const int32_t* order = a.values ? a.order.data<int32_t>() : nullptr;
    dispatch_float(value_dtype, "spmm", [&]<class T>() {
      adj::cuda::launch("spmm", shape, gather_values<T>, a.values ? a.values.data<T>() : nullptr, order,
                        entries, values.mutable_data<T>());
    });
  }
  values = values.to(dtype);

  const Scalars scalars{.dtype = dtype};
  const cudaDataType type = cuda_type(dtype), compute = cuda_type(value_dtype);
  // What throws on the way leaves nothing behind that the next call would find.
  std::unique_ptr<Product> made = first ? std::make_unique<Product>() : nullptr;
  Product& product = first ? *made : *found->second;
  const cusparseHandle_t cusparse = handle(device.index);
  if (first) {
    if (!kept->offsets) {
      const OutsideCapture for_all_streams;
      Tensor offsets = Tensor::empty({csr.rows + 1}, DType::i32, device);
      adj::cuda::launch("spmm", {.device = device.index, .blocks = adj::cuda::blocks_for(csr.rows + 1)},
                        narrow_offsets, csr.offsets.data<int64_t>(), csr.rows + 1,
                        offsets.mutable_data<int32_t>());
      kept->offsets = std::move(offsets);
    }
    ADJ_CUSPARSE_CHECK(cusparseCreateCsr(&product.a, csr.rows, csr.cols, entries, address(kept->offsets),
                                         address(csr.indices), address(values), CUSPARSE_INDEX_32I,
                                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
    ADJ_CUSPARSE_CHECK(
        cusparseCreateDnMat(&product.x, csr.cols, width, width, address(x), type, CUSPARSE_ORDER_ROW));
    ADJ_CUSPARSE_CHECK(cusparseCreateDnMat(&product.y, csr.rows, width, width, result.raw_mutable_data(),
                                           compute, CUSPARSE_ORDER_ROW));
    size_t bytes = 0;
    ADJ_CUSPARSE_CHECK(cusparseSpMM_bufferSize(cusparse, kPlain, kPlain, scalars.alpha(), product.a,
                                               product.x, scalars.beta(), product.y, compute, kAlgorithm,
                                               &bytes));
    product.workspace = Tensor::empty({static_cast<int64_t>(bytes)}, DType::u8, device);
    kept->products.emplace(key, std::move(made));
  } else {
    ADJ_CUSPARSE_CHECK(cusparseSpMatSetValues(product.a, address(values)));
    ADJ_CUSPARSE_CHECK(cusparseDnMatSetValues(product.x, address(x)));
    ADJ_CUSPARSE_CHECK(cusparseDnMatSetValues(product.y, result.raw_mutable_data()));
  }
  ADJ_CUSPARSE_CHECK(cusparseSpMM(cusparse, kPlain, kPlain, scalars.alpha(), product.a, product.x,
                                  scalars.beta(), product.y, compute, kAlgorithm,
                                  product.workspace.raw_mutable_data()));
  if (dtype == DType::bf16) adj::convert(result, y);
}

}  // namespace adj::kernels::cuda
