// Gradients of edge weights, ⟨dY_i, X_j⟩ per entry, alone or in the same pass as dX = Aᵀ dY: the kernel of
// spmm with kDot. The row's own features stay in registers over its entries (the next row's are in flight),
// the others are gathered once for both uses. A dot is summed by a lane over its features, then by a fixed
// tree over lanes; rows wider than a slab take one launch per slab, each adding to dw. So the bits of dw
// depend on the width and on whether rows are aligned for wide reads, and the shape depends only on those.

#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>
#include <adjoint/kernels/aggregate/cuda/strategies.h>
#include <adjoint/kernels/aggregate/spmm.h>

namespace adj::kernels::cuda {

namespace {

struct DotOperands {
  const CsrMatrix& a;
  const Tensor& row_features;  // [rows, F]
  const Tensor& gathered;      // [cols, F]
  Tensor* y;                   // [rows, F] or null
  Tensor& dw;
};

template <class S, int kVector, int kLanes, int kChunks, int kUnroll, bool kSum>
void run_dots(const char* name, const DotOperands& o) {
  constexpr int kSlab = kVector * kLanes * kChunks;
  const int threads = item_threads(o.a.csr);
  const Device device = o.a.csr.device();
  const int64_t width = o.row_features.size(1);
  check_width<S>(name, width);
  const SpmmPlan plan = spmm_plan(o.a.csr);
  Tensor workspace;
  SpmmArguments<S> arguments = spmm_arguments<S>(o.a, plan, o.gathered.raw_data(), width);
  arguments.row_features = static_cast<const S*>(o.row_features.raw_data());
  arguments.dw = o.dw.template mutable_data<Sum<S>>();
  if constexpr (kSum) {
    workspace = Tensor::empty({plan.slots, width}, dtype_of<Sum<S>>(), device);
    arguments.partial = workspace.template mutable_data<Sum<S>>();
    arguments.y = static_cast<S*>(o.y->raw_mutable_data());
  }
  for (int64_t first = 0; first < width; first += kSlab) {
    arguments.first_feature = static_cast<int>(first);
    arguments.add_to_dw = first > 0;
    launch_items(name, device.index, kLanes, threads, stage_bytes<S, kLanes, true>(threads), 1,
                 spmm_kernel<S, kVector, kLanes, kChunks, kUnroll, false, kSum, true>, arguments);
  }
  if constexpr (kSum) launch_merge<S>(name, device.index, plan, arguments);
}

/// The shape for a width: the fewest lanes that cover it, then the fewest chunks.
template <class S, int kVector, bool kSum>
void run_width(const char* name, const DotOperands& o) {
  const int64_t width = o.row_features.size(1);
  if constexpr (sizeof(S) == 8) {  // for gradient checks: small code over speed
    run_dots<S, 1, 32, 1, 4, kSum>(name, o);
  } else {
    if (width <= 4 * kVector) return run_dots<S, kVector, 4, 1, 4, kSum>(name, o);
    if (width <= 8 * kVector) return run_dots<S, kVector, 8, 1, 4, kSum>(name, o);
    if (width <= 16 * kVector) return run_dots<S, kVector, 16, 1, 4, kSum>(name, o);
    if (width <= 32 * kVector) return run_dots<S, kVector, 32, 1, 4, kSum>(name, o);
    return run_dots < S, kVector, 32, kVector * sizeof(Sum<S>) <= 16 ? 4 : 2, 2, kSum > (name, o);
  }
}

template <bool kSum>
void run(const char* name, const DotOperands& o) {
  if (o.a.csr.rows == 0) return;
  if (o.row_features.size(1) == 0) {
    o.dw.zero_();
    return;
  }
  const void* y = o.y != nullptr ? o.y->raw_data() : nullptr;
  dispatch_features(o.row_features.dtype(), [&]<class S>() {
    constexpr int kWide = sizeof(S) < 8 ? 16 / static_cast<int>(sizeof(S)) : 1;
    o.row_features.size(1) % kWide == 0 && aligned_to_16(o.row_features.raw_data(), o.gathered.raw_data(), y)
        ? run_width<S, kWide, kSum>(name, o)
        : run_width<S, 1, kSum>(name, o);
  });
}

}  // namespace

void sddmm(const SddmmArgs& args) {
  if (heads_of(args.dw) > 1) return sddmm_by_head(args);
  run<false>("sddmm", {args.a, args.y, args.x, nullptr, args.dw});
}

void spmm_backward(const SpmmBackwardArgs& args) {
  if (heads_of(args.dw) > 1) return spmm_backward_by_head(args);
  run<true>("spmm_backward", {args.at, args.x, args.dy, &args.dx, args.dw});
}

}  // namespace adj::kernels::cuda
