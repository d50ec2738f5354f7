#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/sparse/find_entries.h>

#include <algorithm>

namespace adj::kernels::cpu {

void find_entries(const FindEntriesArgs& args) {
  const int64_t* offsets = args.csr.offsets.data<int64_t>();
  const int32_t* indices = args.csr.indices.data<int32_t>();
  const int32_t *row = args.row.data<int32_t>(), *col = args.col.data<int32_t>();
  int32_t* entry = args.entry.mutable_data<int32_t>();
  // Edges in structure order ask for ascending entries: each search continues from the end of the previous
  // one, in doubling steps.
  parallel_for(args.row.numel(), kCostlyGrain, [=](int64_t begin, int64_t end) {
    const int32_t *cursor = nullptr, *last = nullptr;
    for (int64_t k = begin; k < end; ++k) {
      if (k == begin || row[k] != row[k - 1] || col[k] < col[k - 1]) {
        cursor = indices + offsets[row[k]];
        last = indices + offsets[row[k] + 1];
      }
      std::ptrdiff_t step = 1;
      while (cursor < last && *cursor < col[k]) {
        if (step >= last - cursor || cursor[step] >= col[k]) {
          cursor = std::lower_bound(cursor + 1, cursor + std::min(step, last - cursor), col[k]);
          break;
        }
        cursor += step;
        step *= 2;
      }
      entry[k] = cursor != last && *cursor == col[k] ? static_cast<int32_t>(cursor - indices) : -1;
    }
  });
}

}  // namespace adj::kernels::cpu
