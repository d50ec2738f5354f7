#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/index/gather_cached.h>

#include <cstring>

namespace adj::kernels::cpu {

void gather_cached(const GatherCachedArgs& args) {
  const int32_t* index = args.at.data<int32_t>();
  const int64_t hot_rows = args.hot.size(0), cold_rows = args.cold.rows;
  for (int64_t k = 0; k < args.at.numel(); ++k)
    ADJ_CHECK(index[k] < hot_rows && -1 - int64_t{index[k]} < cold_rows,
              "gather_cached: at[{}] is {}, expected [{}, {})", k, index[k], -cold_rows, hot_rows);
  const size_t bytes = bytes_of({args.hot.size(1)}, args.hot.dtype());
  const auto* hot = static_cast<const char*>(args.hot.raw_data());
  const auto* cold = static_cast<const char*>(args.cold.data);
  auto* out = static_cast<char*>(args.y.raw_mutable_data());
  if (bytes == 0) return;
  for_each_index(args.at.numel(), row_grain(args.hot.size(1)), [=](int64_t k) {
    const int64_t row = index[k];
    const char* source =
        row >= 0 ? hot + static_cast<size_t>(row) * bytes : cold + static_cast<size_t>(-1 - row) * bytes;
    std::memcpy(out + static_cast<size_t>(k) * bytes, source, bytes);
  });
}

}  // namespace adj::kernels::cpu
