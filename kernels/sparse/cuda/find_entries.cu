// A binary search per pair, in the ascending row. Bytes: the pairs, their results, and a row's offsets and
// probed columns per pair.

#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/sparse/cuda/csr_entries.cuh>
#include <adjoint/kernels/sparse/find_entries.h>

namespace adj::kernels::cuda {

void find_entries(const FindEntriesArgs& args) {
  const int64_t* offsets = args.csr.offsets.data<int64_t>();
  const int32_t *indices = args.csr.indices.data<int32_t>(), *row = args.row.data<int32_t>(),
                *col = args.col.data<int32_t>();
  int32_t* entry = args.entry.mutable_data<int32_t>();
  for_each("find_entries", args.csr.device().index, args.row.numel(), [=] __device__(int64_t k) {
    const int64_t begin = offsets[row[k]], length = offsets[row[k] + 1] - begin;
    const int64_t position = lower_bound(indices + begin, length, col[k]);
    entry[k] = position < length && indices[begin + position] == col[k]
                   ? static_cast<int32_t>(begin + position)
                   : -1;
  });
}

}  // namespace adj::kernels::cuda
