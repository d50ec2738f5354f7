// GATv2: the passes of forward.cuh and backward.cuh. Saved: lse and O. Recomputed: the logits.
//
// With edge features the logits no longer decompose into row terms, and a pass over the entries computes them
// first, [M,H]; GAT's passes then take them unchanged, and output their gradients, [M,H]. The gradients of
// the messages are passes with one thread per feature, each of which recomputes attr_ij W for its feature: E
// products instead of storing M x H D numbers. Buffers of size M x H are freed when the call returns.

#include <adjoint/core/convert.h>
#include <adjoint/kernels/aggregate/cuda/item_walk.cuh>
#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>
#include <adjoint/kernels/attention/cuda/edge_terms.cuh>
#include <adjoint/kernels/attention/cuda/strategies.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/plan/explain.h>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj::kernels::cuda {

namespace {

/// z_ij = l_i + r_j + attr_ij W, one feature at a time.
template <class S>
struct Messages {
  using A = Accumulator<S>;
  const S* l;
  const S* r;
  const S* att;
  const A* attr;
  const S* w;
  A slope;
  int64_t heads, width, features;

  __device__ int64_t all() const { return heads * width; }
  __device__ A operator()(int64_t target, int64_t source, int64_t edge, int64_t f) const {
    A z = A(widen(l[target * all() + f])) + A(widen(r[source * all() + f]));
    for (int64_t k = 0; k < features; ++k) z = fma(attr[edge * features + k], A(widen(w[k * all() + f])), z);
    return z;
  }
  /// d e / d z of the logit e.
  __device__ A slope_at(A z, int64_t f) const { return A(widen(att[f])) * (z > A(0) ? A(1) : slope); }
};

template <class S, class Args>
Messages<S> messages_of(const Args& args) {
  using A = Accumulator<S>;
  return {args.l.template data<S>(),
          args.r.template data<S>(),
          args.att.template data<S>(),
          args.attr.template data<A>(),
          args.w.template data<S>(),
          static_cast<A>(args.slope),
          args.heads(),
          args.head_width(),
          heads_of(args.attr)};
}

/// e[edge, h], one warp each.
template <class S>
__global__ void __launch_bounds__(kBlockThreads)
    logits_kernel(Entries entries, const int32_t* source, Messages<S> z, Accumulator<S>* e) {
  using A = Accumulator<S>;
  begin_overlapping();
  const int64_t n = entries.count * z.heads, step = int64_t{gridDim.x} * (kBlockThreads / 32);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int64_t i = int64_t{blockIdx.x} * (kBlockThreads / 32) + threadIdx.x / 32; i < n; i += step) {
    const int64_t k = i / z.heads, h = i % z.heads, edge = entries.edge(k);
    A sum = 0;
    for (int64_t f = h * z.width + lane; f < (h + 1) * z.width; f += 32) {
      const A value = z(entries.row[k], source[k], edge, f);
      sum = fma(A(widen(z.att[f])), value > A(0) ? value : z.slope * value, sum);
    }
    sum = sum_of_lanes<32>(sum);
    if (lane == 0) e[edge * z.heads + h] = sum;
  }
}

/// Σ de att leaky_relu'(z) over each row, one thread per feature; blockIdx.x is an item of the plan.
/// kByTarget: the rows are targets.
template <class S, bool kByTarget>
__global__ void __launch_bounds__(kBlockThreads)
    row_gradients_kernel(const __grid_constant__ SpmmArguments<S> a, Messages<S> z,
                         const Accumulator<S>* de) {
  using A = Accumulator<S>;
  begin_overlapping();
  const int64_t f = int64_t{blockIdx.y} * blockDim.x + threadIdx.x;
  if (f >= z.all()) return;
  const int64_t head = f / z.width;
  const Item item(a.starts, static_cast<int>(blockIdx.x));
  int k = item.entry;
  for (int row = item.row; row < item.end_row; ++row) {
    const int end = min(static_cast<int>(a.offsets[row + 1]), item.end_entry);
    A sum = 0;
    for (; k < end; ++k) {
      const int64_t edge = a.order == nullptr ? k : a.order[k];
      const int column = a.indices[k];
      const A value = kByTarget ? z(row, column, edge, f) : z(column, row, edge, f);
      sum = fma(de[edge * z.heads + head], z.slope_at(value, f), sum);
    }
    if (item.part)
      a.partial[int64_t{item.slot} * z.all() + f] = sum;
    else
      a.y[int64_t{row} * z.all() + f] = narrow<S>(sum);
  }
}

constexpr int kFeaturesAtOnce = 8;

/// Contribution of blockIdx.x's entries to dW[k, f], for kFeaturesAtOnce k from blockIdx.z on, and, for the
/// first k, to datt[f].
template <class S>
__global__ void __launch_bounds__(kBlockThreads)
    weight_gradients_kernel(Entries entries, const int32_t* source, int64_t entries_of_block, Messages<S> z,
                            const Accumulator<S>* de, Accumulator<S>* dw, Accumulator<S>* datt) {
  using A = Accumulator<S>;
  begin_overlapping();
  const int64_t f = int64_t{blockIdx.y} * blockDim.x + threadIdx.x;
  if (f >= z.all()) return;
  const int64_t begin = int64_t{blockIdx.x} * entries_of_block,
                end = min(entries.count, begin + entries_of_block), head = f / z.width;
  const int64_t first = int64_t{blockIdx.z} * kFeaturesAtOnce;
  A sums[kFeaturesAtOnce] = {}, att_sum = 0;
  for (int64_t k = begin; k < end; ++k) {
    const int64_t edge = entries.edge(k);
    const A value = z(entries.row[k], source[k], edge, f), d = de[edge * z.heads + head];
    att_sum = fma(d, value > A(0) ? value : z.slope * value, att_sum);
    const A dz = d * z.slope_at(value, f);
#pragma unroll
    for (int i = 0; i < kFeaturesAtOnce; ++i)
      if (first + i < z.features) sums[i] = fma(z.attr[edge * z.features + first + i], dz, sums[i]);
  }
#pragma unroll
  for (int i = 0; i < kFeaturesAtOnce; ++i)
    if (dw != nullptr && first + i < z.features)
      dw[(blockIdx.x * z.features + first + i) * z.all() + f] = sums[i];
  if (datt != nullptr && first == 0) datt[blockIdx.x * z.all() + f] = att_sum;
}

/// dattr[edge, k] = Σ_f dz_f W[k, f], one warp per entry.
template <class S>
__global__ void __launch_bounds__(kBlockThreads)
    attribute_gradients_kernel(Entries entries, const int32_t* source, Messages<S> z,
                               const Accumulator<S>* de, Accumulator<S>* dattr) {
  using A = Accumulator<S>;
  begin_overlapping();
  const int64_t step = int64_t{gridDim.x} * (kBlockThreads / 32);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int64_t k = int64_t{blockIdx.x} * (kBlockThreads / 32) + threadIdx.x / 32; k < entries.count;
       k += step) {
    const int64_t edge = entries.edge(k);
    for (int64_t first = 0; first < z.features; first += kFeaturesAtOnce) {
      A sums[kFeaturesAtOnce] = {};
      for (int64_t f = lane; f < z.all(); f += 32) {
        const A dz = de[edge * z.heads + f / z.width] * z.slope_at(z(entries.row[k], source[k], edge, f), f);
#pragma unroll
        for (int i = 0; i < kFeaturesAtOnce; ++i)
          if (first + i < z.features) sums[i] = fma(A(widen(z.w[(first + i) * z.all() + f])), dz, sums[i]);
      }
#pragma unroll
      for (int i = 0; i < kFeaturesAtOnce; ++i) {
        const A sum = sum_of_lanes<32>(sums[i]);
        if (lane == 0 && first + i < z.features) dattr[edge * z.features + first + i] = sum;
      }
    }
  }
}

/// `blocks` for each part of the features, with one thread per feature.
LaunchShape over_features(Device device, int64_t blocks, int64_t width, int64_t depth = 1) {
  const auto threads = static_cast<unsigned>(std::min<int64_t>(ceil_div(width, 32) * 32, kBlockThreads));
  return overlapping(device.index, grid(blocks, ceil_div(width, threads), depth), threads);
}

template <class S, class Args>
Tensor make_logits(const Args& args, const Tensor& row) {
  Tensor e = Tensor::empty({args.attr.size(0), args.heads()}, dtype_of<Accumulator<S>>(), args.a.device());
  launch("gatv2", over(args.a.device().index, args.a.csr.entries() * args.heads() * 32), logits_kernel<S>,
         entries_of(args.a, row), args.a.csr.indices.template data<int32_t>(), messages_of<S>(args),
         e.mutable_data<Accumulator<S>>());
  return e;
}

/// gat's passes log under their own name.
template <class Args>
void explain_features(const char* name, const Args& args) {
  explain_sparse(name, args.a.csr, args.l.size(1), args.heads(), args.l.dtype(),
                 "logits of edges with features in a pass of their own, then as gat's");
}

template <class S>
void forward_with_features(const Gatv2Args& args) {
  const DType accumulator = dtype_of<Accumulator<S>>();
  explain_features("gatv2", args);
  const Tensor e = make_logits<S>(args, rows_of_entries(args.a.csr));
  const Tensor l = Tensor::zeros({args.a.csr.rows, args.heads()}, accumulator, args.a.device()),
               r = Tensor::zeros({args.a.csr.cols, args.heads()}, accumulator, args.a.device());
  run_gat<S>({.a = args.a,
              .l = l,
              .r = r,
              .c = e,
              .x = args.r,
              .slope = 1.0f,
              .dropout = args.dropout,
              .bias = args.bias,
              .o = args.o,
              .lse = args.lse});
}

/// gradient[rows, H D] = Σ de d e / d z over the rows of a structure.
template <class S, bool kByTarget>
void sum_message_gradients(const CsrMatrix& a, const Messages<S>& z, const Tensor& de, Tensor& gradient) {
  const int64_t width = gradient.size(1);
  const SpmmPlan plan = spmm_plan(a.csr);
  if (plan.items == 0 || width == 0) return;
  Tensor workspace = Tensor::empty({plan.slots, width}, dtype_of<Accumulator<S>>(), gradient.device());
  SpmmArguments<S> arguments = spmm_arguments<S>(a, plan, nullptr, width);
  arguments.y = gradient.mutable_data<S>();
  arguments.partial = workspace.mutable_data<Accumulator<S>>();
  launch("gatv2_backward", over_features(gradient.device(), plan.items, width),
         row_gradients_kernel<S, kByTarget>, arguments, z, de.data<Accumulator<S>>());
  launch_merge<S>("gatv2_backward", gradient.device().index, plan, arguments);
}

/// output = Σ over the first dimension of `parts`.
void sum_parts(const Tensor& parts, Tensor& output) {
  if (!output) return;
  const Tensor rows = parts.reshape({parts.size(0), output.numel()});
  Tensor sum = Tensor::empty({output.numel()}, parts.dtype(), parts.device());
  cuda::sum_rows({.x = rows, .y = sum});
  adj::convert(sum, output);
}

template <class S>
void backward_with_features(const Gatv2BackwardArgs& args) {
  using A = Accumulator<S>;
  const Device device = args.a.device();
  const Csr& csr = args.a.csr;
  const DType accumulator = dtype_of<A>();
  const int64_t width = args.heads() * args.head_width(), features = heads_of(args.attr);
  explain_features("gatv2_backward", args);
  const Tensor row = rows_of_entries(csr);
  const Tensor e = make_logits<S>(args, row);
  const Tensor l = Tensor::zeros({csr.rows, args.heads()}, accumulator, device),
               r = Tensor::zeros({csr.cols, args.heads()}, accumulator, device);
  Tensor de = Tensor::empty_like(e), none;
  run_gat_backward<S>({.a = args.a,
                       .at = args.at,
                       .l = l,
                       .r = r,
                       .c = e,
                       .x = args.r,
                       .slope = 1.0f,
                       .dropout = args.dropout,
                       .bias = args.bias,
                       .o = args.o,
                       .lse = args.lse,
                       .d_o = args.d_o,
                       .delta = args.delta,
                       .dl = none,
                       .dr = none,
                       .dx = args.dr,
                       .dc = de});
  const Messages<S> z = messages_of<S>(args);
  const Entries entries = entries_of(args.a, row);
  const int32_t* source = csr.indices.data<int32_t>();
  if (args.dl) sum_message_gradients<S, true>(args.a, z, de, args.dl);
  if (args.dr) {
    Tensor by_logits = Tensor::empty_like(args.dr);
    sum_message_gradients<S, false>(args.at, z, de, by_logits);
    cuda::linear_combination({.a = args.dr, .beta = 1.0, .b = by_logits, .y = args.dr});
  }
  if (args.dattr)
    launch("gatv2_backward", over(device.index, csr.entries() * 32), attribute_gradients_kernel<S>, entries,
           source, z, de.data<A>(), args.dattr.mutable_data<A>());
  if (!args.datt && !args.dw) return;
  constexpr int64_t kBlocks = 256;
  const int64_t entries_of_block = std::max<int64_t>(ceil_div(csr.entries(), kBlocks), 1);
  const int64_t blocks = std::max<int64_t>(ceil_div(csr.entries(), entries_of_block), 1);
  Tensor dw, datt;
  if (args.dw) dw = Tensor::empty({blocks, features, width}, accumulator, device);
  if (args.datt) datt = Tensor::empty({blocks, width}, accumulator, device);
  launch("gatv2_backward", over_features(device, blocks, width, ceil_div(features, kFeaturesAtOnce)),
         weight_gradients_kernel<S>, entries, source, entries_of_block, z, de.data<A>(),
         mutable_data_or_null<A>(dw), mutable_data_or_null<A>(datt));
  if (dw) sum_parts(dw, args.dw);
  if (datt) sum_parts(datt, args.datt);
}

}  // namespace

void gatv2(const Gatv2Args& args) {
  dispatch_features(args.l.dtype(),
                    [&]<class S>() { args.attr ? forward_with_features<S>(args) : run_gatv2<S>(args); });
}

void gatv2_backward(const Gatv2BackwardArgs& args) {
  dispatch_features(args.l.dtype(), [&]<class S>() {
    args.attr ? backward_with_features<S>(args) : run_gatv2_backward<S>(args);
  });
}

}  // namespace adj::kernels::cuda
