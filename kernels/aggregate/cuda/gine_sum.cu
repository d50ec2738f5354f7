// Messages relu(x_j + wᵀ e_ij), summed at the targets, and their gradients: spmm's walk over the items of the
// plan (heads_kernel), with the lanes of a group split over features. Nothing is saved: the backward pass,
// over the transposed structure, computes every message again. The maps of up to kHeld edge features stay in
// a lane's registers; further ones are read from L1, and the gradients de and dw then take one pass per kHeld
// edge features.
//
// de is a dot product over a group's lanes in a fixed tree; rows wider than a slab take one launch per slab,
// each adding to it. dw is summed by a lane over its items, then over the groups of a block, then over
// blocks, whose number depends only on the structure and the device: no atomics.
//
// Bytes: entries x F of x (backward: of dy), per entry 4 for the column, 4 for the order and 4 E for e (4 E
// more for de), rows x F of y (backward: of x and dx).

#include <adjoint/kernels/aggregate/cuda/item_walk.cuh>
#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>
#include <adjoint/kernels/aggregate/gine_sum.h>

#include <algorithm>

namespace adj::kernels::cuda {

namespace {

constexpr int kGineThreads = 128;
constexpr int kHeld = 8;

/// Arguments of the messages in addition to those of every pass over a structure (SpmmArguments).
template <class S>
struct GineArguments {
  const S* e;
  const S* w;  ///< null: e is added unchanged
  int edge_width;
  int first_edge_feature;  ///< of the kHeld edge features of this pass
  bool writes_rows;        ///< dx: by the first of several passes
  Sum<S>* de;
  Sum<S>* dw;  ///< [blocks, kHeld, width]
};

template <class S, int kVector, int kLanes, bool kPlain, bool kBackward, bool kDots, bool kWeights>
__global__ void __launch_bounds__(kGineThreads)
    gine_kernel(const __grid_constant__ SpmmArguments<S> a, const __grid_constant__ GineArguments<S> g) {
  using A = Sum<S>;
  begin_overlapping();
  constexpr int kUnroll = kBackward ? 2 : 4;
  constexpr int kGroups = kGineThreads / kLanes;
  constexpr int kMaps = kPlain ? 1 : kHeld;
  const int lane = static_cast<int>(threadIdx.x) % kLanes, group = static_cast<int>(threadIdx.x) / kLanes;
  const unsigned mask = group_mask<kLanes>();
  const int feature = a.first_feature + (static_cast<int>(blockIdx.y) * kLanes + lane) * kVector;
  const bool valid = feature < a.width;
  const uint32_t pitch = a.pitch;

  A map[kMaps][kVector], dw[kWeights ? kHeld : 1][kVector];
  if constexpr (!kPlain) {
#pragma unroll
    for (int d = 0; d < kHeld; ++d)
#pragma unroll
      for (int v = 0; v < kVector; ++v)
        map[d][v] = valid && g.first_edge_feature + d < g.edge_width
                        ? widen(g.w[static_cast<int64_t>(g.first_edge_feature + d) * a.width + feature + v])
                        : A(0);
  }
  if constexpr (kWeights) {
#pragma unroll
    for (int d = 0; d < kHeld; ++d)
#pragma unroll
      for (int v = 0; v < kVector; ++v) dw[d][v] = A(0);
  }

  auto load_row = [&](const S* matrix, int row) {
    return valid ? gather_pack<S, kVector>(
                       row_address(reinterpret_cast<const char*>(matrix + feature), row, pitch))
                 : Pack<S, kVector>{};
  };

  const int step = static_cast<int>(gridDim.x) * kGroups;
  for (int number = static_cast<int>(blockIdx.x) * kGroups + group; number < a.items; number += step) {
    const Item item(a.starts, number);
    ItemWalk<false> walk{item};
    walk.begin(a);

    A sum[kVector];
    Pack<S, kVector> row_features{};
    auto begin_row = [&] {
#pragma unroll
      for (int v = 0; v < kVector; ++v) sum[v] = A(0);
      if constexpr (kBackward) {
        if (walk.active()) row_features = load_row(a.row_features, walk.row);
      }
    };
    auto write_row = [&] {
      if (!valid || !g.writes_rows) return;
      if (item.part) {
        Pack<A, kVector> pack;
#pragma unroll
        for (int v = 0; v < kVector; ++v) pack[v] = sum[v];
        store(a.partial + static_cast<int64_t>(item.slot) * a.width + feature, pack);
      } else {
        Pack<S, kVector> pack;
#pragma unroll
        for (int v = 0; v < kVector; ++v) pack[v] = narrow<S>(sum[v]);
        store(a.y + static_cast<int64_t>(walk.row) * a.width + feature, pack);
      }
    };
    auto end_row = [&] {
      write_row();
      walk.next_row(a);
      begin_row();
    };
    begin_row();
    walk.end_first_rows(end_row);

    for (int base = item.entry; base < item.end_entry; base += kUnroll) {
      const int left = min(kUnroll, item.end_entry - base);
      int64_t edge[kUnroll];
      Pack<S, kVector> gathered[kUnroll];
      A edge_feature[kUnroll][kMaps];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const int k = min(base + u, item.end_entry - 1);
        const int32_t place = a.order == nullptr ? k : __ldg(a.order + k);
        edge[u] = static_cast<int64_t>(place) * g.edge_width;
        gathered[u] = load_row(a.x, __ldg(a.indices + k));
        if constexpr (!kPlain) {
#pragma unroll
          for (int d = 0; d < kHeld; ++d)
            edge_feature[u][d] = g.first_edge_feature + d < g.edge_width
                                     ? widen(g.e[edge[u] + g.first_edge_feature + d])
                                     : A(0);
        }
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (u >= left) break;
        // z = x + wᵀ e, over the edge's features in order.
        A z[kVector];
#pragma unroll
        for (int v = 0; v < kVector; ++v) z[v] = widen(kBackward ? row_features[v] : gathered[u][v]);
        if constexpr (kPlain) {
          if (valid) {
#pragma unroll
            for (int v = 0; v < kVector; ++v) z[v] += widen(g.e[edge[u] + feature + v]);
          }
        } else {
          auto add_others = [&](int begin, int end) {
            if (!valid) return;
            for (int d = begin; d < end; ++d) {
              const A factor = widen(g.e[edge[u] + d]);
              const S* const row_of_map = g.w + static_cast<int64_t>(d) * a.width + feature;
#pragma unroll
              for (int v = 0; v < kVector; ++v) z[v] = fma(factor, widen(row_of_map[v]), z[v]);
            }
          };
          add_others(0, g.first_edge_feature);
#pragma unroll
          for (int d = 0; d < kHeld; ++d)
#pragma unroll
            for (int v = 0; v < kVector; ++v) z[v] = fma(edge_feature[u][d], map[d][v], z[v]);
          add_others(g.first_edge_feature + kHeld, g.edge_width);
        }
        if constexpr (!kBackward) {
#pragma unroll
          for (int v = 0; v < kVector; ++v) sum[v] += z[v] < A(0) ? A(0) : z[v];  // NaN stays
        } else {
          A gradient[kVector];
#pragma unroll
          for (int v = 0; v < kVector; ++v) {
            gradient[v] = z[v] > A(0) ? widen(gathered[u][v]) : A(0);
            sum[v] += gradient[v];
          }
          if constexpr (kPlain && kDots) {
            if (valid) {
#pragma unroll
              for (int v = 0; v < kVector; ++v) g.de[edge[u] + feature + v] = gradient[v];
            }
          }
          if constexpr (!kPlain && kDots) {
            A dot[kHeld];
#pragma unroll
            for (int d = 0; d < kHeld; ++d) {
              dot[d] = A(0);
#pragma unroll
              for (int v = 0; v < kVector; ++v) dot[d] = fma(map[d][v], gradient[v], dot[d]);
            }
            const A total = reduce_scatter<kHeld, kLanes>(dot, lane, mask);
            constexpr int kShare = kLanes / kHeld;
            const int d = g.first_edge_feature + lane / kShare;
            if (lane % kShare == 0 && d < g.edge_width) {
              A* const output = g.de + edge[u] + d;
              *output = a.add_to_dw ? *output + total : total;
            }
          }
          if constexpr (kWeights) {
#pragma unroll
            for (int d = 0; d < kHeld; ++d)
#pragma unroll
              for (int v = 0; v < kVector; ++v) dw[d][v] = fma(edge_feature[u][d], gradient[v], dw[d][v]);
          }
        }
        if (base + u + 1 == walk.row_end) walk.end_rows(end_row);
      }
    }
  }

  if constexpr (kWeights) {
    __shared__ A of_group[kGroups][kLanes * kVector];
#pragma unroll
    for (int d = 0; d < kHeld; ++d) {
      __syncthreads();  // earlier readers are done
#pragma unroll
      for (int v = 0; v < kVector; ++v) of_group[group][lane * kVector + v] = dw[d][v];
      __syncthreads();
      if (group == 0 && valid) {
#pragma unroll
        for (int v = 0; v < kVector; ++v) {
          A total = A(0);
#pragma unroll
          for (int i = 0; i < kGroups; ++i) total += of_group[i][lane * kVector + v];
          g.dw[(static_cast<int64_t>(blockIdx.x) * kHeld + d) * a.width + feature + v] = total;
        }
      }
    }
  }
}

/// dw[d, f] = Σ over blocks of partial[block, d, f], for `rows` of the kHeld.
template <class A>
__global__ void __launch_bounds__(kBlockThreads)
    sum_blocks_kernel(const A* partial, int blocks, int rows, int width, A* dw) {
  begin_overlapping();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x;
  if (i >= static_cast<int64_t>(rows) * width) return;
  A total = A(0);
#pragma unroll 8
  for (int b = 0; b < blocks; ++b) total += partial[static_cast<int64_t>(b) * kHeld * width + i];
  dw[i] = total;
}

/// Operands of a pass; absent or null: not computed.
struct GineOperands {
  const char* name;
  const CsrMatrix& a;
  const Tensor& x;  // gathered
  const Tensor& e;
  const Tensor& w;
  Tensor& y;
  const Tensor& row_features = kAbsent;  // of the rows; only in backward passes
  Tensor de = {};
  Tensor dw = {};
};

template <class S, int kVector, int kLanes>
void run_gine(GineOperands o) {
  using A = Sum<S>;
  const Device device = o.a.csr.device();
  const int64_t width = o.x.size(1), slab = kLanes * kVector;
  check_width<S>(o.name, width);
  const SpmmPlan plan = spmm_plan(o.a.csr);
  SpmmArguments<S> arguments = spmm_arguments<S>(o.a, plan, o.x.raw_data(), width);
  Tensor workspace = Tensor::empty({plan.slots, width}, dtype_of<Sum<S>>(), device);
  arguments.partial = workspace.template mutable_data<A>();
  arguments.y = o.y.template mutable_data<S>();
  if (o.row_features) arguments.row_features = o.row_features.template data<S>();
  GineArguments<S> message{o.e.template data<S>(),
                           data_or_null<S>(o.w),
                           static_cast<int>(o.e.size(1)),
                           0,
                           true,
                           mutable_data_or_null<A>(o.de),
                           nullptr};
  const auto all_blocks = static_cast<unsigned>(ceil_div(plan.items, kGineThreads / kLanes));
  const auto slabs = static_cast<unsigned>(ceil_div(width, slab));

  const auto pass = [&](auto kernel, unsigned blocks, unsigned slabs_at_once) {
    launch(o.name, overlapping(device.index, {blocks, slabs_at_once}, kGineThreads), kernel, arguments,
           message);
  };
  const bool plain = !o.w;
  if (!o.row_features) {
    pass(plain ? gine_kernel<S, kVector, kLanes, true, false, false, false>
               : gine_kernel<S, kVector, kLanes, false, false, false, false>,
         all_blocks, slabs);
  } else if (plain) {
    pass(o.de ? gine_kernel<S, kVector, kLanes, true, true, true, false>
              : gine_kernel<S, kVector, kLanes, true, true, false, false>,
         all_blocks, slabs);
  } else if (!o.de && !o.dw) {
    pass(gine_kernel<S, kVector, kLanes, false, true, false, false>, all_blocks, slabs);
  } else {
    // Each block leaves its own dw: no more blocks than keep the device busy.
    const auto most = static_cast<unsigned>(properties(device.index).multiprocessors * 8);
    const unsigned blocks = o.dw ? std::min(all_blocks, most) : all_blocks;
    Tensor partial;
    if (o.dw) {
      partial = Tensor::empty({int64_t{blocks} * kHeld, width}, o.dw.dtype(), device);
      message.dw = partial.template mutable_data<A>();
    }
    for (int first = 0; first < message.edge_width; first += kHeld) {
      message.first_edge_feature = first;
      message.writes_rows = first == 0;
      for (unsigned s = 0; s < slabs; ++s) {
        arguments.first_feature = static_cast<int>(s * slab);
        arguments.add_to_dw = s > 0;
        pass(!o.dw  ? gine_kernel<S, kVector, kLanes, false, true, true, false>
             : o.de ? gine_kernel<S, kVector, kLanes, false, true, true, true>
                    : gine_kernel<S, kVector, kLanes, false, true, false, true>,
             blocks, 1);
      }
      if (!o.dw) continue;
      const int rows = std::min(kHeld, message.edge_width - first);
      Tensor dw_rows = o.dw.rows(first, first + rows);
      launch(o.name, over(device.index, int64_t{rows} * width), sum_blocks_kernel<A>,
             partial.template data<A>(), static_cast<int>(blocks), rows, static_cast<int>(width),
             dw_rows.template mutable_data<A>());
    }
  }
  launch_merge<S>(o.name, device.index, plan, arguments);
}

void run(GineOperands o) {
  if (o.a.csr.entries() == 0 || o.x.size(1) == 0) {
    o.y.zero_();
    if (o.de) o.de.zero_();
    if (o.dw) o.dw.zero_();
    return;
  }
  dispatch_features(o.x.dtype(), [&]<class S>() {
    constexpr int kWide = sizeof(S) < 8 ? 4 : 1;
    const int64_t width = o.x.size(1);
    const void* row_data = o.row_features ? o.row_features.raw_data() : nullptr;
    const bool wide = width % kWide == 0 && aligned_to_16(o.x.raw_data(), row_data, o.y.raw_data());
    if constexpr (kWide > 1) {
      if (wide && width <= 8 * kWide) return run_gine<S, kWide, 8>(o);
      if (wide && width <= 16 * kWide) return run_gine<S, kWide, 16>(o);
      if (wide) return run_gine<S, kWide, 32>(o);
    }
    run_gine<S, 1, 32>(o);
  });
}

}  // namespace

void gine_sum(const GineSumArgs& args) {
  run({.name = "gine_sum", .a = args.a, .x = args.x, .e = args.e, .w = args.w, .y = args.y});
}

void gine_sum_backward(const GineSumBackwardArgs& args) {
  run({.name = "gine_sum_backward",
       .a = args.at,
       .x = args.dy,
       .e = args.e,
       .w = args.w,
       .y = args.dx,
       .row_features = args.x,
       .de = args.de,
       .dw = args.dw});
}

}  // namespace adj::kernels::cuda
