// Row counts and sums over an unsorted list: threads own ranges of rows (row_ranges.h), so that a row is
// summed in list order for any number of threads. Bytes: the list's rows once per thread, and the output.
#include <adjoint/kernels/aggregate/coo_sums.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/edge/cpu/edge_rows.h>
#include <adjoint/kernels/sparse/cpu/row_ranges.h>

#include <atomic>
#include <cmath>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kEntries = int64_t{1} << 16;  // that justify another thread scanning all of them

/// Calls begin(i) for every row, then add(e) for every entry, in list order within a row, then end(i).
template <class Begin, class Add, class Last>
void for_rows_of_list(const int32_t* row, int64_t entries, int64_t rows, Begin begin, Add add, Last last) {
  const int64_t ranges = std::clamp<int64_t>((entries + rows) / kEntries, 1, num_threads());
  const std::vector<int64_t> ends = row_ranges(row, entries, rows, ranges);
  parallel_for(ranges, 1, [&](int64_t range, int64_t) {
    const int64_t low = ends[static_cast<size_t>(range)], high = ends[static_cast<size_t>(range) + 1];
    for (int64_t i = low; i < high; ++i) begin(i);
    if (ranges == 1) {
      for (int64_t e = 0; e < entries; ++e) add(e);
    } else {
      const auto first = static_cast<uint32_t>(low), count = static_cast<uint32_t>(high - low);
      for (int64_t e = 0; e < entries; ++e)
        if (static_cast<uint32_t>(row[e]) - first < count) add(e);
    }
    for (int64_t i = low; i < high; ++i) last(i);
  });
}

}  // namespace

void coo_degrees(const CooDegreesArgs& args) {
  const int64_t rows = args.y.numel();
  const int32_t* row = args.row.data<int32_t>();
  float* y = args.y.mutable_data<float>();
  // In-place: integer and float have the same size.
  auto* count = static_cast<uint32_t*>(args.y.raw_mutable_data());
  for_rows_of_list(
      row, args.row.numel(), rows, [=](int64_t i) { count[i] = 0; }, [=](int64_t e) { ++count[row[e]]; },
      [=](int64_t i) { y[i] = static_cast<float>(count[i]); });
}

void coo_mean(const CooMeanArgs& args) {
  dispatch_float(args.y.dtype(), "coo_mean", [&]<class T>() {
    const int32_t* row = args.row.data<int32_t>();
    const float* degree = args.degree.data<float>();
    const T* w = args.w ? args.w.data<T>() : nullptr;
    T* y = args.y.mutable_data<T>();
    for_each_index(args.y.numel(), kGrain, [=](int64_t e) {
      const T share = T{1} / static_cast<T>(degree[row[e]]);
      y[e] = w == nullptr ? share : share * w[e];
    });
  });
}

void coo_gcn_normalize(const CooGcnNormalizeArgs& args) {
  const int64_t rows = args.a.rows, entries = args.a.entries() - args.a.loops;
  const bool completes = args.a.loops > 0;
  const float fill = args.fill;
  const int32_t *row = args.a.row.data<int32_t>(), *col = args.a.col.data<int32_t>();
  const float* values = args.values ? args.values.data<float>() : nullptr;
  float *degree = args.degree.mutable_data<float>(), *weights = args.weights.mutable_data<float>();
  const auto value = [=](int64_t e) { return values == nullptr ? 1.0f : values[e]; };

  Tensor last = Tensor::empty({completes ? rows : 0}, DType::i32);  // the last loop of each node, or -1
  int32_t* loop = last.mutable_data<int32_t>();
  if (completes) {
    std::fill(loop, loop + rows, -1);
    parallel_for(entries, kGrain, [=](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) {
        if (row[e] != col[e]) continue;
        const std::atomic_ref<int32_t> found(loop[row[e]]);
        int32_t before = found.load(std::memory_order_relaxed);
        while (before < e && !found.compare_exchange_weak(before, static_cast<int32_t>(e))) {
        }
      }
    });
  }
  const auto loop_weight = [=](int64_t i) { return loop[i] < 0 ? fill : value(loop[i]); };

  Tensor accumulators = Tensor::empty({rows}, DType::f64);
  double* sum = accumulators.mutable_data<double>();
  for_rows_of_list(
      row, entries, rows, [=](int64_t i) { sum[i] = 0.0; },
      [=](int64_t e) {
        if (!completes || row[e] != col[e]) sum[row[e]] += static_cast<double>(value(e));
      },
      [=](int64_t i) {
        degree[i] = static_cast<float>(completes ? sum[i] + static_cast<double>(loop_weight(i)) : sum[i]);
      });

  const auto normalized = [=](float w, int64_t i, int64_t j) {
    return degree[i] > 0.0f && degree[j] > 0.0f ? w / (std::sqrt(degree[i]) * std::sqrt(degree[j])) : 0.0f;
  };
  for_each_index(entries, kGrain, [=](int64_t e) {
    weights[e] = completes && row[e] == col[e] ? 0.0f : normalized(value(e), row[e], col[e]);
  });
  if (completes)
    for_each_index(rows, kGrain, [=](int64_t i) { weights[entries + i] = normalized(loop_weight(i), i, i); });
}

void mean_factors(const MeanFactorsArgs& args) {
  dispatch_float(args.y.dtype(), "mean_factors", [&]<class T>() {
    const int64_t* offsets = args.a.offsets.data<int64_t>();
    T* y = args.y.mutable_data<T>();
    for_each_index(args.a.rows, kGrain, [=](int64_t i) {
      const int64_t count = offsets[i + 1] - offsets[i];
      y[i] = count > 0 ? T{1} / static_cast<T>(count) : T{0};
    });
  });
}

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
