#include <adjoint/kernels/array/sort.h>
#include <adjoint/kernels/cpu/loops.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace adj::kernels::cpu {

void sort_rows(const SortRowsArgs& args) {
  const int64_t rows = args.x.size(0), columns = args.x.size(1), kept = args.indices.size(1);
  int32_t *indices = args.indices.mutable_data<int32_t>(),
          *positions = args.positions.mutable_data<int32_t>();
  dispatch_features(args.x.dtype(), [&]<class T>() {
    using Key = decltype(detail::sort_key(Accumulator<T>{}, false));
    const T* x = args.x.data<T>();
    // Sorting takes some fifty times as long as a cheap pass.
    parallel_for(rows, row_grain(columns, kGrain / 64), [&, x](int64_t begin, int64_t end) {
      std::vector<Key> key(static_cast<size_t>(columns));
      std::vector<int32_t> order(key.size());
      const auto comes_first = [&](int32_t a, int32_t b) {
        const Key left = key[static_cast<size_t>(a)], right = key[static_cast<size_t>(b)];
        return left != right ? left < right : a < b;
      };
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t k = 0; k < columns; ++k)
          key[static_cast<size_t>(k)] = detail::sort_key(widen(x[r * columns + k]), args.descending);
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + kept, order.end(), comes_first);
        for (int64_t k = 0; k < kept; ++k) {
          indices[r * kept + k] = order[static_cast<size_t>(k)];
          positions[r * kept + k] = static_cast<int32_t>(r * columns) + order[static_cast<size_t>(k)];
        }
      }
    });
  });
}

}  // namespace adj::kernels::cpu
