#pragma once

// Launches of spmm_kernel. All layouts give the same bits.

#include <adjoint/kernels/aggregate/cuda/spmm_kernels.cuh>
#include <adjoint/kernels/aggregate/cuda/spmm_merge.cuh>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/plan/item_layout.h>

namespace adj::kernels::cuda {

/// A grid's y counts slabs of a row, of 32 features or more.
template <class S>
void check_width(const char* name, int64_t width) {
  constexpr int64_t kMost = 65535 * 32;
  ADJ_CHECK(width <= kMost, "{}: rows of {} features, expected at most {} on a GPU", name, width, kMost);
}

/// The plan and the structure that a pass over items walks.
template <class Arguments>
void set_structure(Arguments& arguments, const Csr& csr, const SpmmPlan& plan) {
  arguments.starts = plan.item_starts();
  arguments.items = static_cast<int>(plan.items);
  arguments.offsets = csr.offsets.template data<int64_t>();
  arguments.indices = csr.indices.template data<int32_t>();
}

/// Arguments of every pass over the items of a structure.
template <class S>
SpmmArguments<S> spmm_arguments(const CsrMatrix& a, const SpmmPlan& plan, const void* x, int64_t width) {
  SpmmArguments<S> arguments{};
  set_structure(arguments, a.csr, plan);
  if (a.values) arguments.values = a.values.template data<Sum<S>>();
  if (a.order) arguments.order = a.order.template data<int32_t>();
  arguments.x = static_cast<const S*>(x);
  arguments.width = static_cast<int>(width);
  arguments.pitch = static_cast<uint32_t>(width * static_cast<int64_t>(sizeof(S)));
  return arguments;
}

/// `kernel` over all items, `lanes` per row, in `slabs` of features.
template <class Arguments>
void launch_items(const char* name, int device, int lanes, int threads, size_t shared_bytes, int64_t slabs,
                  void (*kernel)(Arguments), const Arguments& arguments) {
  launch(name,
         overlapping(device, grid(ceil_div(arguments.items, threads / lanes), slabs), threads, shared_bytes),
         kernel, arguments);
}

/// Blocks of kMergeWarps warps that merge parts.
inline LaunchShape merge_shape(int device, int64_t blocks, unsigned slabs) {
  return overlapping(device, grid(blocks, slabs), 32 * kMergeWarps);
}

/// Whether a merge may read 16 bytes of partial sums at a time.
template <class S>
bool merges_wide(const SpmmArguments<S>& a) {
  constexpr int kVector = 16 / static_cast<int>(sizeof(Sum<S>));
  return a.width % kVector == 0 && (reinterpret_cast<uintptr_t>(a.y) | a.y_gap) % (kVector * sizeof(S)) == 0;
}
/// Slabs of features that a merge processes in parallel, kVector features per lane.
template <class S>
unsigned merge_slabs(const SpmmArguments<S>& a, int vector) {
  return a.y == nullptr ? 0 : static_cast<unsigned>(ceil_div(a.width, 32 * vector));
}

/// The merged runs of very long rows: [runs, width].
template <class S, int kVector>
Tensor merge_runs(const char* name, int device, const SpmmPlan& plan, const SpmmArguments<S>& a) {
  using A = Sum<S>;
  Tensor runs = Tensor::empty({plan.runs, a.width}, dtype_of<A>(), Device::cuda(device));
  launch(name, merge_shape(device, plan.runs, merge_slabs(a, kVector)), merge_runs_kernel<A, kVector>,
         plan.slot_run_list(), plan.slot_run_count(), a.partial, a.width, runs.mutable_data<A>());
  return runs;
}

/// Sums the partial results of split rows in the workspace, of one matrix or of several from one walk: `row`,
/// `value` and `term`; one without y is absent.
template <class S>
void launch_merge(const char* name, int device, const SpmmPlan& plan, const SpmmArguments<S>& row,
                  const SpmmArguments<S>& value = {}, const SpmmArguments<Sum<S>>& term = {}) {
  using A = Sum<S>;
  if (plan.heavy_rows == 0) return;
  const auto run = [&]<int kVector>() {
    const unsigned row_slabs = merge_slabs(row, kVector), value_slabs = merge_slabs(value, kVector),
                   slabs = row_slabs + value_slabs + merge_slabs(term, 1);
    const Tensor row_runs = merge_runs<S, kVector>(name, device, plan, row),
                 value_runs = merge_runs<S, kVector>(name, device, plan, value),
                 term_runs = merge_runs<A, 1>(name, device, plan, term);
    const auto shape = merge_shape(device, ceil_div(plan.heavy_rows, kMergeWarps), slabs);
    if (slabs == row_slabs)
      return launch(name, shape, merge_kernel<S, kVector>, plan.heavy_row_list(), plan.heavy_row_count(), row,
                    row_runs.data<A>());
    const MergedMatrices<S> all{row,
                                value,
                                term,
                                row_runs.data<A>(),
                                value_runs.data<A>(),
                                term_runs.data<A>(),
                                static_cast<int>(row_slabs),
                                static_cast<int>(value_slabs)};
    launch(name, shape, merge_matrices_kernel<S, kVector>, plan.heavy_row_list(), plan.heavy_row_count(),
           all);
  };
  constexpr int kVector = 16 / static_cast<int>(sizeof(A));
  merges_wide(row) && merges_wide(value) ? run.template operator()<kVector>() : run.template operator()<1>();
}

/// Y = act(A X + bias) by our own kernels. Instantiated in one file for float, one for bfloat16.
template <class S>
void own_spmm(const SpmmArgs& args);

template <>
void own_spmm<float>(const SpmmArgs& args);
template <>
void own_spmm<double>(const SpmmArgs& args);
template <>
void own_spmm<bfloat16>(const SpmmArgs& args);

/// Implementation of own_spmm with these layouts, `kLocal` for SpmmArgs::own.
template <class S, bool kLocal, class... L>
void run_own_spmm(ItemLayouts<L...> layouts, const SpmmArgs& args) {
  const CsrMatrix& a = args.a;
  const Tensor& x = args.x;
  const Device device = a.csr.device();
  const int64_t width = x.size(1);
  const SpmmPlan plan = spmm_plan(a.csr);
  if (plan.items == 0 || width == 0) return;
  check_width<S>("spmm", width);
  Tensor workspace = Tensor::empty({plan.slots, width}, dtype_of<Sum<S>>(), device);
  SpmmArguments<S> arguments = spmm_arguments<S>(a, plan, x.raw_data(), width);
  arguments.y = args.y.template mutable_data<S>() + args.first_column;
  arguments.y_gap = static_cast<uint32_t>((args.y.size(1) - width) * static_cast<int64_t>(sizeof(S)));
  arguments.partial = workspace.template mutable_data<Sum<S>>();
  arguments.relu = args.activation == Activation::relu;
  arguments.epilogue = args.row_factor || args.bias || arguments.relu;
  arguments.factor = data_or_null<Sum<S>>(args.row_factor);
  arguments.bias = data_or_null<S>(args.bias);
  if constexpr (kLocal) {
    arguments.local = reinterpret_cast<const char*>(args.local.template data<S>() + args.first_column);
    arguments.local_row = static_cast<int>(args.local_row);
    arguments.local_rows = static_cast<int>(args.local.size(0));
    arguments.local_pitch = static_cast<uint32_t>(args.local.size(1) * static_cast<int64_t>(sizeof(S)));
  }

  const int threads = item_threads(a.csr);
  const auto first_byte = static_cast<uint64_t>(args.first_column) * sizeof(S);
  const size_t local_alignment =
      kLocal ? alignment_of(args.local, args.local, first_byte | arguments.local_pitch) : 16;
  const ItemPass pass{"spmm", a.csr, width, x.dtype(),
                      std::min(local_alignment, alignment_of(x, args.y, first_byte | arguments.y_gap))};
  with_layout(layouts, pass, [&]<class T>() {
    launch_items(
        "spmm", device.index, T::kLanes, threads, stage_bytes<S, T::kLanes, false>(threads),
        ceil_div(width, T::kRow.slab()),
        spmm_kernel<S, T::kVector, T::kLanes, T::kChunks, T::kUnroll, (T::kChunks > 1), true, false, kLocal>,
        arguments);
  });
  launch_merge<S>("spmm", device.index, plan, arguments);
}

}  // namespace adj::kernels::cuda
