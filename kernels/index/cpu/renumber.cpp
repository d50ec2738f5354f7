#include <adjoint/core/parallel.h>
#include <adjoint/kernels/index/renumber.h>

#include <algorithm>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kGrain = 1 << 14;

}  // namespace

void renumber(const RenumberArgs& args) {
  const int32_t* index = args.index.data<int32_t>();
  int32_t* number = args.number.mutable_data<int32_t>();
  const int64_t n = args.index.numel();
  std::fill(number, number + args.number.numel(), -1);
  int64_t repeated = n;
  for (int64_t k = n - 1; k >= 0; --k) {  // backwards: the first is written last
    if (index[k] >= 0) number[index[k]] = static_cast<int32_t>(k);
  }
  for (int64_t k = 0; k < n && repeated == n; ++k)
    if (index[k] >= 0 && number[index[k]] != k) repeated = k;
  *args.repeated.mutable_data<int64_t>() = repeated;
}

void find_entries(const FindEntriesArgs& args) {
  const int64_t* offsets = args.csr.offsets.data<int64_t>();
  const int32_t* indices = args.csr.indices.data<int32_t>();
  const int32_t *row = args.row.data<int32_t>(), *col = args.col.data<int32_t>();
  int32_t* entry = args.entry.mutable_data<int32_t>();
  parallel_for(args.row.numel(), kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int32_t* last = indices + offsets[row[k] + 1];
      const int32_t* at = std::lower_bound(indices + offsets[row[k]], last, col[k]);
      entry[k] = at != last && *at == col[k] ? static_cast<int32_t>(at - indices) : -1;
    }
  });
}

}  // namespace adj::kernels::cpu
