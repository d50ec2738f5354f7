#include <adjoint/kernels/cpu/index.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/sparse/split_rows.h>

#include <array>

namespace adj::kernels::cpu {

void split_rows(const SplitRowsArgs& args) {
  require_in_range("split_rows", "type", args.type, args.types);
  const int64_t rows = args.a.rows, width = args.width();
  const int64_t* begins = args.a.offsets.data<int64_t>();
  const int32_t *columns = args.a.indices.data<int32_t>(), *types = args.type.data<int32_t>(),
                *order = args.order ? args.order.data<int32_t>() : nullptr;
  int64_t* offsets = args.offsets.mutable_data<int64_t>();
  int32_t* indices = args.indices.mutable_data<int32_t>();
  const bool loops = args.loops;
  offsets[rows * width] = args.indices.numel();
  for_each_index(rows, kCostlyGrain, [=](int64_t i) {
    const auto type_of = [=](int64_t e) {
      return static_cast<size_t>(types[order == nullptr ? e : order[e]]);
    };
    std::array<int64_t, kMostSplitTypes> next{};
    for (int64_t e = begins[i]; e < begins[i + 1]; ++e) ++next[type_of(e)];
    int64_t place = begins[i] + (loops ? i : 0);
    for (int64_t t = 0; t < width; ++t) {
      const int64_t count = std::exchange(next[static_cast<size_t>(t)], place);
      offsets[i * width + t] = place;
      place += count;
    }
    for (int64_t e = begins[i]; e < begins[i + 1]; ++e) indices[next[type_of(e)]++] = columns[e];
    if (loops) indices[place] = static_cast<int32_t>(i);
  });
}

}  // namespace adj::kernels::cpu
