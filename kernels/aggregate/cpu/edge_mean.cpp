#include <adjoint/kernels/aggregate/edge_mean.h>
#include <adjoint/kernels/edge/cpu/edge_rows.h>

namespace adj::kernels::cpu {

void edge_mean(const EdgeMeanArgs& args) {
  dispatch_float(args.y.dtype(), "edge_mean", [&]<class T>() {
    const std::shared_ptr<const RowChunks> cuts = row_chunks(args.a.csr);
    const EntryPlaces place(args.a, args.y);
    const int64_t heads = place.heads;
    const int64_t* offsets = args.a.csr.offsets.data<int64_t>();
    const T* w = args.w ? args.w.data<T>() : nullptr;
    T* y = args.y.mutable_data<T>();
    for_chunks(*cuts, args.a.csr.entries() * heads, kGrain, [&](const RowChunks::Chunk& chunk) {
      for_rows_of(chunk, offsets, [&](int64_t i, int64_t begin, int64_t end) {
        const T share = T{1} / static_cast<T>(std::max<int64_t>(offsets[i + 1] - offsets[i], 1));
        for (int64_t k = begin; k < end; ++k) {
          const int64_t base = place(k);
#pragma omp simd
          for (int64_t h = 0; h < heads; ++h) y[base + h] = w == nullptr ? share : share * w[base + h];
        }
      });
    });
  });
}

}  // namespace adj::kernels::cpu
