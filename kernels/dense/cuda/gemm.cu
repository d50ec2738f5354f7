// Matrix products by cuBLASLt. It is column-major: our row-major C[M,N] is its C^T[N,M] = op(B)^T op(A)^T, so
// the operands are swapped and nothing is transposed. Descriptors and the algorithm chosen by its heuristic
// are cached per shape, or, for the dimension that counts nodes and varies per mini-batch, per size class
// (the heuristic takes as long as some launches). Only algorithms with a fixed summation order are allowed,
// and the heuristic's first choice is used instead of autotuning, whose choice could differ between runs. A
// bfloat16 product whose bias cuBLASLt cannot fuse is left in float32, 4 M x N bytes of scratch, so that it
// is rounded once, with the bias.
#include <adjoint/core/allocator.h>
#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/dense/cuda/cublas_lt.h>
#include <adjoint/kernels/dense/cuda/float32_products.h>
#include <adjoint/kernels/dense/gemm.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <array>
#include <bit>
#include <compare>
#include <map>
#include <memory>
#include <mutex>

namespace adj::kernels::cuda {

namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // NVIDIA's recommendation for Hopper
constexpr size_t kMostPlans = 1024;
// Outside this interval every number of rows is its own class: there are few small ones, and a product of
// many rows takes far longer than the heuristic.
constexpr int64_t kSmallestClass = 256, kLargestClass = 32768;

/// Partial sums over K may be merged in the compute type; in the output type only if that is as wide.
uint32_t reductions(DType result) {
  return result == DType::bf16
             ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
             : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
}

cudaDataType_t cuda_type(DType dtype) {
  return dtype == DType::f64 ? CUDA_R_64F : dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

/// Representative of a size class of rows: the upper bound, eight classes per doubling.
int64_t class_of(int64_t rows) {
  if (rows <= kSmallestClass || rows > kLargestClass) return rows;
  const int64_t step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(rows - 1))) / 8;
  return ceil_div(rows, step) * step;
}

/// All parameters of a plan.
struct Product {
  DType dtype, result;  // of the operands and of C
  MatmulPrecision precision;
  bool trans_a, trans_b, bias, relu;
  uint32_t align_a, align_b, align_c;
  int64_t m, n, k;
  auto operator<=>(const Product&) const = default;

  /// Whether our rows are columns of cuBLASLt's matrices: then no leading dimension depends on them.
  bool rows_are_m() const { return !trans_a; }
  bool rows_are_k() const { return trans_a && !trans_b; }
  /// The product whose algorithm this one uses.
  Product of_its_class() const {
    Product p = *this;
    if (rows_are_m()) p.m = class_of(m);
    if (rows_are_k()) p.k = class_of(k);
    return p;
  }
};

template <class Handle, cublasStatus_t (*CublasLt::*kDestroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (handle_ != nullptr) (void)(cublas_lt().*kDestroy)(handle_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle* out() { return &handle_; }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};
using Layout = Owned<cublasLtMatrixLayout_t, &CublasLt::cublasLtMatrixLayoutDestroy>;

struct Plan {
  Owned<cublasLtMatmulDesc_t, &CublasLt::cublasLtMatmulDescDestroy> product;
  Layout first, second, result;  // B, A and C
  cublasLtMatmulAlgo_t algorithm{};
  bool found = false;
};

template <class T>
void set(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  ADJ_CUBLAS(cublasLtMatmulDescSetAttribute(descriptor, attribute, &value, sizeof(value)));
}
template <class T>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const T& value) {
  ADJ_CUBLAS(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)));
}

cublasComputeType_t compute_type(const Product& p) {
  if (p.dtype == DType::f64) return CUBLAS_COMPUTE_64F;
  switch (p.precision) {
    case MatmulPrecision::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case MatmulPrecision::bf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}

uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<uintptr_t>(address);
  return static_cast<uint32_t>(std::min<uintptr_t>(bits & (~bits + 1), 256));
}

class Library {
 public:
  explicit Library(int device) {
    const DeviceScope scope(device);
    const RelaxedCapture relaxed;
    ADJ_CUBLAS(cublasLtCreate(&handle_));
  }

  /// False if cuBLASLt has no algorithm with this epilogue.
  bool run(const Product& p, const Tensor& a, const Tensor& b, const Tensor& bias, bool accumulate,
           Tensor& c) {
    const DeviceScope scope(c.device().index);
    const std::lock_guard lock(mutex_);
    const Product alike = p.of_its_class();
    if (run(plan_for(alike, bias), p, a, b, bias, accumulate, c)) return true;
    // An algorithm may reject sizes smaller than those it was chosen for.
    return p != alike && run(plan_for(p, bias), p, a, b, bias, accumulate, c);
  }

 private:
  bool run(Plan& plan, const Product& p, const Tensor& a, const Tensor& b, const Tensor& bias,
           bool accumulate, Tensor& c) {
    const int device = c.device().index;
    if (!plan.found) return false;
    const auto set_columns = [](Layout& layout, int64_t columns) {
      const auto count = static_cast<uint64_t>(columns);
      ADJ_CUBLAS(
          cublasLtMatrixLayoutSetAttribute(layout.get(), CUBLASLT_MATRIX_LAYOUT_COLS, &count, sizeof(count)));
    };
    if (p.rows_are_m()) {
      set_columns(plan.second, p.m);
      set_columns(plan.result, p.m);
    } else if (p.rows_are_k()) {
      set_columns(plan.first, p.k);
      set_columns(plan.second, p.k);
    }
    if (p.bias) set(plan.product.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.raw_data());
    // float64 for float64 products, float32 for all others.
    const float one = 1.0f, of_c = accumulate ? 1.0f : 0.0f;
    const double one64 = one, of_c64 = of_c;
    const bool wide = p.dtype == DType::f64;
    void* output = c.raw_mutable_data();
    const cublasStatus_t status = cublas_lt().cublasLtMatmul(
        handle_, plan.product.get(), wide ? static_cast<const void*>(&one64) : &one, b.raw_data(),
        plan.first.get(), a.raw_data(), plan.second.get(), wide ? static_cast<const void*>(&of_c64) : &of_c,
        output, plan.result.get(), output, plan.result.get(), &plan.algorithm, workspace(device),
        kWorkspaceBytes, current_stream(device));
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return false;
    check_cublas(status, "cublasLtMatmul");
    return true;
  }

  /// Workspace of the current stream: products on two streams run concurrently.
  void* workspace(int device) {
    Tensor& kept = workspaces_[static_cast<size_t>(Stream::current(Device::cuda(device)).id())];
    if (!kept) {
      const MemoryPoolScope shared(nullptr);  // outlives any pool in scope
      kept = Tensor::empty({static_cast<int64_t>(kWorkspaceBytes)}, DType::u8, Device::cuda(device));
    }
    return kept.raw_mutable_data();
  }

  Plan& plan_for(const Product& p, const Tensor& bias) {
    if (const auto found = plans_.find(p); found != plans_.end()) return *found->second;
    if (plans_.size() >= kMostPlans) plans_.clear();
    return *plans_.emplace(p, make_plan(p, bias)).first->second;
  }

  std::unique_ptr<Plan> make_plan(const Product& p, const Tensor& bias) {
    auto plan = std::make_unique<Plan>();
    const cudaDataType_t scale_type = cuda_type(accumulator_dtype(p.dtype));
    ADJ_CUBLAS(cublasLtMatmulDescCreate(plan->product.out(), compute_type(p), scale_type));
    const cublasLtMatmulDesc_t product = plan->product.get();
    set(product, CUBLASLT_MATMUL_DESC_TRANSA, p.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(product, CUBLASLT_MATMUL_DESC_TRANSB, p.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(product, CUBLASLT_MATMUL_DESC_EPILOGUE,
        p.bias ? (p.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
               : (p.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT));
    if (p.bias) set(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.raw_data());

    const auto layout = [](Layout& descriptor, cudaDataType_t type, int64_t rows, int64_t columns) {
      ADJ_CUBLAS(cublasLtMatrixLayoutCreate(descriptor.out(), type, static_cast<uint64_t>(rows),
                                            static_cast<uint64_t>(columns), rows));
    };
    const cudaDataType_t type = cuda_type(p.dtype);
    p.trans_b ? layout(plan->first, type, p.k, p.n) : layout(plan->first, type, p.n, p.k);
    p.trans_a ? layout(plan->second, type, p.m, p.k) : layout(plan->second, type, p.k, p.m);
    layout(plan->result, cuda_type(p.result), p.n, p.m);

    Owned<cublasLtMatmulPreference_t, &CublasLt::cublasLtMatmulPreferenceDestroy> preference;
    ADJ_CUBLAS(cublasLtMatmulPreferenceCreate(preference.out()));
    set(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kWorkspaceBytes));
    set(preference.get(), CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions(p.result));
    set(preference.get(), CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.align_b);
    set(preference.get(), CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.align_a);
    set(preference.get(), CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.align_c);
    set(preference.get(), CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.align_c);
    cublasLtMatmulHeuristicResult_t result{};
    int count = 0;
    const cublasStatus_t status = cublas_lt().cublasLtMatmulAlgoGetHeuristic(
        handle_, product, plan->first.get(), plan->second.get(), plan->result.get(), plan->result.get(),
        preference.get(), 1, &result, &count);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
    plan->found = status == CUBLAS_STATUS_SUCCESS && count > 0 && result.state == CUBLAS_STATUS_SUCCESS;
    plan->algorithm = result.algo;
    return plan;
  }

  std::mutex mutex_;
  cublasLtHandle_t handle_ = nullptr;
  std::array<Tensor, adj::detail::kMaxStreams> workspaces_;
  std::map<Product, std::unique_ptr<Plan>> plans_;
};

Library& library(int device) {
  // Never destroyed: CUDA may be torn down before statics.
  static auto* mutex = new std::mutex;
  static auto* libraries = new std::map<int, std::unique_ptr<Library>>;
  const std::lock_guard lock(*mutex);
  auto& instance = (*libraries)[device];
  if (!instance) instance = std::make_unique<Library>(device);
  return *instance;
}

/// c = act(product + bias), `product` in float32 and `c` in bfloat16. One element at a time: the widths here
/// are mostly odd.
template <class Index>
struct RoundWithBias {
  Index width;
  const float* product;
  const bfloat16* bias;
  bool relu;
  bfloat16* c;

  __device__ void operator()(Index i) const {
    const float sum = product[i] + widen(bias[i % width]);
    c[i] = narrow<bfloat16>(relu && sum < 0.0f ? 0.0f : sum);  // NaN propagates
  }
};

}  // namespace

void gemm(const GemmArgs& args) {
  if (args.c.numel() == 0) return;
  const auto finish = [&](bool with_bias, bool with_relu) {
    if (with_bias) add_bias({.x = args.c, .bias = args.bias, .y = args.c});
    if (with_relu) activate({.activation = Activation::relu, .x = args.c, .y = args.c});
    if (args.through_relu)
      activate_backward({.activation = Activation::relu, .x = args.through_relu, .dy = args.c, .dx = args.c});
  };
  const bool transposed_a = args.trans_a == Transpose::yes, transposed_b = args.trans_b == Transpose::yes;
  const bool relu = args.activation == Activation::relu;
  const int64_t k = transposed_a ? args.a.size(0) : args.a.size(1);
  if (k == 0) {
    if (!args.accumulate) args.c.zero_();
    return finish(static_cast<bool>(args.bias), relu);
  }
  if (is_small_product(args)) {
    small_product(args);
    return finish(false, false);
  }
  if (splits_product(args)) return split_product(args);
  const DType dtype = args.c.dtype();
  const bool wide = dtype == DType::f64;  // for gradient checks: the plain product suffices
  const bool aligned_bias = !args.bias || aligned_to_16(args.bias.raw_data());
  Product product{dtype,
                  dtype,
                  dtype == DType::f32 ? compute_context().matmul_precision : MatmulPrecision::exact,
                  transposed_a,
                  transposed_b,
                  !wide && args.bias && aligned_bias,
                  !wide && relu && aligned_bias,
                  alignment_of(args.a.raw_data()),
                  alignment_of(args.b.raw_data()),
                  alignment_of(args.c.raw_data()),
                  args.c.size(0),
                  args.c.size(1),
                  k};
  Library& lt = library(args.c.device().index);
  const auto run = [&](Tensor& c) {
    product.result = c.dtype();
    product.align_c = alignment_of(c.raw_data());
    return lt.run(product, args.a, args.b, args.bias, args.accumulate, c);
  };
  const auto require = [&](bool found) {
    ADJ_CHECK(found, "gemm: cuBLASLt has no algorithm for {} times {}, K = {}, to {}", args.a.str(),
              args.b.str(), k, args.c.str());
  };
  const bool rounds_later = dtype == DType::bf16 && args.bias;
  // For other widths cuBLASLt's kernels round before adding the bias.
  if (!rounds_later || (aligned_bias && product.n % 8 == 0)) {
    if (run(args.c)) return finish(args.bias && !product.bias, relu && !product.relu);
  }
  product.bias = product.relu = false;
  if (rounds_later) {
    Tensor sums = Tensor::empty(args.c.shape(), DType::f32, args.c.device());
    require(run(sums));
    for_each_narrow("gemm", args.c.device().index, args.c.numel(), [&]<class Index>() {
      return RoundWithBias<Index>{static_cast<Index>(args.c.size(1)), sums.data<float>(),
                                  args.bias.data<bfloat16>(), relu, args.c.mutable_data<bfloat16>()};
    });
    return finish(false, false);
  }
  require(run(args.c));
  finish(static_cast<bool>(args.bias), relu);
}

void weight_gradients(const WeightGradientsArgs& args) {
  const GemmArgs product{.a = args.x, .trans_a = Transpose::yes, .b = args.dz, .c = args.dw};
  const bool summed = args.dbias && args.dw.numel() > 0 && args.x.size(0) > 0 && !is_small_product(product) &&
                      splits_product(product);
  if (summed) return split_product(product, &args.dbias);
  cuda::gemm(product);  // calls the CUDA implementation, not the dispatcher
  if (args.dbias) sum_rows({.x = args.dz, .y = args.dbias});
}

}  // namespace adj::kernels::cuda
