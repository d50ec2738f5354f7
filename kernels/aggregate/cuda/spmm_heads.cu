// Aggregations with weights per head, [M,H], their adjoint and the gradient of the weights: the walk of
// spmm_kernel (spmm_kernels.cuh) over the items of the plan, with the lanes of a group split over heads, so
// that a lane's features belong to one head: it reads that head's weight with each gathered row, and a head's
// dot product is summed over its own lanes in a fixed tree. Columns are read four entries at a time, with the
// next four in flight. Heads wider than the lanes' registers take one launch per part, each adding to dw.
//
// Every (row, feature) is one sequential sum, split according to the plan; a dot depends on D and on whether
// rows are aligned for wide reads. Nothing is saved.
//
// Bytes: entries x F of X, per entry 4 for the column (4 more with an order) and 4 H for the weights (4 H
// more for dw), rows x F of Y.

#include <adjoint/kernels/aggregate/cuda/item_walk.cuh>
#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>
#include <adjoint/kernels/aggregate/cuda/strategies.h>

#include <bit>

namespace adj::kernels::cuda {

namespace {

constexpr int kHeadThreads = 256;

/// Mapping of a group's lanes to the heads of a row.
struct HeadLayout {
  int heads;
  int width;  ///< features per head
  int lanes;  ///< per head, a power of two
  int first;  ///< first feature of the head in this launch
};

template <class S, int kVector, int kLanes, int kChunks, bool kSum, bool kDot>
__global__ void __launch_bounds__(kHeadThreads)
    heads_kernel(const __grid_constant__ SpmmArguments<S> a, const HeadLayout layout) {
  using A = Sum<S>;
  begin_overlapping();
  constexpr int kUnroll = kChunks > 1 ? 2 : 4;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const unsigned mask = group_mask<kLanes>();
  const int number = static_cast<int>(blockIdx.x * (kHeadThreads / kLanes) + threadIdx.x / kLanes);
  if (number >= a.items) return;
  const Item item(a.starts, number);

  const int head = static_cast<int>(blockIdx.y) * (kLanes / layout.lanes) + lane / layout.lanes;
  const bool has_head = head < layout.heads;
  const int in_head = layout.first + lane % layout.lanes * kVector, chunk_step = layout.lanes * kVector;
  const int feature = head * layout.width + in_head;
  bool valid[kChunks];
#pragma unroll
  for (int c = 0; c < kChunks; ++c) valid[c] = has_head && in_head + c * chunk_step < layout.width;

  const uint32_t pitch = a.pitch, chunk_bytes = static_cast<uint32_t>(chunk_step * sizeof(S));
  auto load_chunks = [&](const S* matrix, int r, Pack<S, kVector>(&chunks)[kChunks]) {
    const char* const source = row_address(reinterpret_cast<const char*>(matrix + feature), r, pitch);
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
      chunks[c] = valid[c] ? gather_pack<S, kVector>(source + c * chunk_bytes) : Pack<S, kVector>{};
  };
  ItemWalk<false> walk{item};
  walk.begin(a);
  A sum[kChunks][kVector];
  Pack<S, kVector> row_features[kChunks];
  auto begin_row = [&] {
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
#pragma unroll
      for (int v = 0; v < kVector; ++v) sum[c][v] = A(0);
    if constexpr (kDot) {
      if (walk.active()) load_chunks(a.row_features, walk.row, row_features);
    }
  };
  auto write_row = [&] {
    if (item.part) {
      A* const output = a.partial + static_cast<int64_t>(item.slot) * a.width + feature;
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        Pack<A, kVector> pack;
#pragma unroll
        for (int v = 0; v < kVector; ++v) pack[v] = sum[c][v];
        if (valid[c]) store(output + c * chunk_step, pack);
      }
    } else {
      const char* const output = row_address(reinterpret_cast<const char*>(a.y + feature), walk.row, pitch);
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        if (!valid[c]) continue;
        Pack<S, kVector> pack;
#pragma unroll
        for (int v = 0; v < kVector; ++v)
          pack[v] = narrow<S>(finish(a, walk.row, sum[c][v], feature + c * chunk_step + v));
        stream_pack(output + c * chunk_bytes, pack);
      }
    }
  };
  auto end_row = [&] {
    if constexpr (kSum) write_row();
    walk.next_row(a);
    begin_row();
  };
  begin_row();
  walk.end_first_rows(end_row);
  if (item.entry >= item.end_entry) return;

  int32_t column[kUnroll], edge[kUnroll];
  auto load_entries = [&](int base) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int e = min(base + u, item.end_entry - 1);
      column[u] = __ldg(a.indices + e);
      edge[u] = a.order == nullptr ? e : __ldg(a.order + e);
    }
  };
  load_entries(item.entry);
#pragma unroll 1
  for (int base = item.entry; base < item.end_entry; base += kUnroll) {
    const int left = min(kUnroll, item.end_entry - base);
    Pack<S, kVector> gathered[kUnroll][kChunks];
    A weight[kUnroll], dot[kUnroll];
    int64_t place[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      place[u] = static_cast<int64_t>(edge[u]) * layout.heads + head;
      load_chunks(a.x, column[u], gathered[u]);
      if constexpr (kSum) weight[u] = has_head && a.values != nullptr ? __ldg(a.values + place[u]) : A(1);
      dot[u] = A(0);
    }
    load_entries(base + kUnroll);

    auto add = [&](int u) {
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
#pragma unroll
        for (int v = 0; v < kVector; ++v) {
          const A value = widen(gathered[u][c][v]);
          if constexpr (kSum) sum[c][v] = fma(weight[u], value, sum[c][v]);
          if constexpr (kDot) dot[u] = fma(widen(row_features[c][v]), value, dot[u]);
        }
      }
    };
    walk.take<kUnroll>(base, left, add, end_row);
    if constexpr (kDot) {
      for (int offset = layout.lanes / 2; offset > 0; offset /= 2)
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) dot[u] += __shfl_xor_sync(mask, dot[u], offset);
      if (has_head && lane % layout.lanes == 0) {
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          if (u >= left) continue;
          A* const output = a.dw + place[u];
          *output = layout.first > 0 ? *output + dot[u] : dot[u];
        }
      }
    }
  }
}

/// Operands of a pass in addition to the structure; absent: not computed.
struct HeadOperands {
  const CsrMatrix& a;
  const Tensor& x;  // gathered
  int64_t heads;
  const Tensor& row_features = kAbsent;
  Tensor* y = nullptr;
  Tensor* dw = nullptr;
  const Tensor& bias = kAbsent;
  bool relu = false;
};

template <class S, int kVector, int kLanes, int kChunks, bool kSum, bool kDot>
void run_heads(const char* name, const HeadOperands& o) {
  const Device device = o.a.csr.device();
  const int64_t width = o.x.size(1);
  check_width<S>(name, width);
  const SpmmPlan plan = spmm_plan(o.a.csr);
  SpmmArguments<S> arguments = spmm_arguments<S>(o.a, plan, o.x.raw_data(), width);
  Tensor workspace;
  if constexpr (kSum) {
    workspace = Tensor::empty({plan.slots, width}, dtype_of<Sum<S>>(), device);
    arguments.partial = workspace.template mutable_data<Sum<S>>();
    arguments.y = o.y->template mutable_data<S>();
    arguments.relu = o.relu;
    if (o.bias) arguments.bias = o.bias.template data<S>();
  }
  if constexpr (kDot) {
    arguments.row_features = o.row_features.template data<S>();
    arguments.dw = o.dw->template mutable_data<Sum<S>>();
  }
  const auto in_head = static_cast<int>(width / o.heads);
  const auto packs = static_cast<unsigned>(ceil_div(in_head, kVector));
  HeadLayout layout{static_cast<int>(o.heads), in_head, static_cast<int>(std::min(std::bit_ceil(packs), 32u)),
                    0};
  layout.lanes = std::min(layout.lanes, kLanes);
  const auto slabs = static_cast<unsigned>(ceil_div(o.heads, kLanes / layout.lanes));
  for (; layout.first < in_head; layout.first += layout.lanes * kVector * kChunks)
    launch(name,
           overlapping(device.index, grid(ceil_div(plan.items, kHeadThreads / kLanes), slabs), kHeadThreads),
           heads_kernel<S, kVector, kLanes, kChunks, kSum, kDot>, arguments, layout);
  if constexpr (kSum) launch_merge<S>(name, device.index, plan, arguments);
}

/// The fewest lanes that cover all heads; several chunks if one head needs more than a warp.
template <class S, int kVector, bool kSum, bool kDot>
void run_layout(const char* name, const HeadOperands& o) {
  const int64_t packs = ceil_div(o.x.size(1) / o.heads, kVector);
  const auto lanes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(packs))) * o.heads;
  if constexpr (sizeof(S) < 8) {  // float64 is for gradient checks: small code over speed
    if (lanes <= 16) return run_heads<S, kVector, 16, 1, kSum, kDot>(name, o);
    if (packs > 32)
      return run_heads < S, kVector, 32, kVector * sizeof(Sum<S>) <= 16 ? 4 : 2, kSum, kDot > (name, o);
  }
  run_heads<S, kVector, 32, 1, kSum, kDot>(name, o);
}

template <bool kSum, bool kDot>
void run(const char* name, const HeadOperands& o) {
  if (o.a.csr.rows == 0) return;
  if (o.x.size(1) == 0) {
    if (o.dw != nullptr) o.dw->zero_();
    return;
  }
  dispatch_features(o.x.dtype(), [&]<class S>() {
    if constexpr (sizeof(S) < 8) {
      constexpr int kWide = 16 / static_cast<int>(sizeof(S));
      const void* row_data = o.row_features ? o.row_features.raw_data() : nullptr;
      const void* y = o.y != nullptr ? o.y->raw_data() : nullptr;
      if (o.x.size(1) / o.heads % kWide == 0 && aligned_to_16(o.x.raw_data(), row_data, y))
        return run_layout<S, kWide, kSum, kDot>(name, o);
    }
    run_layout<S, 1, kSum, kDot>(name, o);
  });
}

}  // namespace

void spmm_by_head(const SpmmArgs& args) {
  run<true, false>("spmm", {.a = args.a,
                            .x = args.x,
                            .heads = heads_of(args.a.values),
                            .y = &args.y,
                            .bias = args.bias,
                            .relu = args.activation == Activation::relu});
}

void sddmm_by_head(const SddmmArgs& args) {
  run<false, true>(
      "sddmm",
      {.a = args.a, .x = args.x, .heads = heads_of(args.dw), .row_features = args.y, .dw = &args.dw});
}

void spmm_backward_by_head(const SpmmBackwardArgs& args) {
  run<true, true>("spmm_backward", {.a = args.at,
                                    .x = args.dy,
                                    .heads = heads_of(args.dw),
                                    .row_features = args.x,
                                    .y = &args.dx,
                                    .dw = &args.dw});
}

}  // namespace adj::kernels::cuda
