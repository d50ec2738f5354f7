#include <adjoint/core/parallel.h>
#include <adjoint/kernels/index/range.h>

#include <algorithm>
#include <vector>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kGrain = 1 << 16;

template <class T>
int64_t find(const T* index, int64_t n, int64_t limit) {
  std::vector<int64_t> found(static_cast<size_t>((n + kGrain - 1) / kGrain), n);
  parallel_for(n, kGrain, [=, &found](int64_t begin, int64_t end) {
    int outside = 0;
    for (int64_t k = begin; k < end; ++k) outside |= static_cast<int>((index[k] < 0) | (index[k] >= limit));
    if (outside == 0) return;
    const T* bad =
        std::find_if(index + begin, index + end, [=](T value) { return value < 0 || value >= limit; });
    found[static_cast<size_t>(begin / kGrain)] = bad - index;
  });
  return found.empty() ? n : *std::min_element(found.begin(), found.end());
}

}  // namespace

void first_outside(const FirstOutsideArgs& args) {
  const int64_t limit = args.limit;
  *args.position.mutable_data<int64_t>() = args.index.dtype() == DType::i32
                                               ? find(args.index.data<int32_t>(), args.index.numel(), limit)
                                               : find(args.index.data<int64_t>(), args.index.numel(), limit);
}

}  // namespace adj::kernels::cpu
