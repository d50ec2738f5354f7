#include <adjoint/core/parallel.h>
#include <adjoint/graph/order/window_reuse.h>
#include <adjoint/kernels/sparse/csr.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace adj {

std::vector<TileCount> window_reuse(const Csr& a, int64_t height, int64_t width,
                                    const std::vector<int64_t>& least) {
  kernels::check_csr("window_reuse", a);
  ADJ_CHECK(a.device().is_cpu(), "window_reuse: the structure is on {}, expected it on the CPU",
            a.device().str());
  for (int64_t count : {height, width})
    ADJ_CHECK(count >= 1 && count <= kernels::kMaxEntries,
              "window_reuse: tiles of {} x {}, expected sides of 1 to 2^31 - 1", height, width);
  std::vector<TileCount> none, counts;
  for (int64_t count : least) {
    ADJ_CHECK(count >= 1 && count <= kernels::kMaxEntries,
              "window_reuse: tiles of at least {} entries, expected 1 to 2^31 - 1", count);
    none.push_back({count, 0, 0});
  }
  counts = none;
  const int64_t* offsets = a.offsets.data<int64_t>();
  const int32_t* columns = a.indices.data<int32_t>();
  const int64_t windows = ceil_div(a.rows, height);
  std::mutex mutex;
  // Few chunks, since each has an array over all tiles of a window.
  parallel_for(windows, std::max<int64_t>(1, ceil_div(windows, 64)), [&](int64_t begin, int64_t end) {
    std::vector<int32_t> entries(static_cast<size_t>(ceil_div(a.cols, width)));
    std::vector<size_t> touched;
    std::vector<TileCount> found = none;
    for (int64_t w = begin; w < end; ++w) {
      const int64_t last = offsets[std::min((w + 1) * height, a.rows)];
      for (int64_t e = offsets[w * height]; e < last; ++e) {
        const auto tile = static_cast<size_t>(columns[e] / width);
        if (entries[tile]++ == 0) touched.push_back(tile);
      }
      for (size_t tile : touched) {
        const int64_t n = std::exchange(entries[tile], 0);
        for (TileCount& count : found)
          if (n >= count.least) count = {count.least, count.tiles + 1, count.entries + n};
      }
      touched.clear();
    }
    const std::lock_guard lock(mutex);
    for (size_t k = 0; k < counts.size(); ++k) {
      counts[k].tiles += found[k].tiles;
      counts[k].entries += found[k].entries;
    }
  });
  return counts;
}

}  // namespace adj
