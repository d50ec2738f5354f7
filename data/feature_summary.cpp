#include <adjoint/core/parallel.h>
#include <adjoint/data/feature_summary.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <vector>

namespace adj {

namespace {

struct ColumnSummary {
  float least = std::numeric_limits<float>::infinity(), largest = -least;
  double sum = 0.0;  // of |x|
  int64_t entries = 0;
  bool real = false;

  void add(float x) {
    real |= x != 0.0f && x != 1.0f;
    least = std::min(least, x);
    largest = std::max(largest, x);
    sum += std::abs(x);
  }
  void add(const ColumnSummary& other) {
    least = std::min(least, other.least);
    largest = std::max(largest, other.largest);
    sum += other.sum;
    real |= other.real;
  }
};

/// Running counts over rows; `column_summaries` has those of each column.
struct Counts : FeatureSummary {
  std::vector<ColumnSummary> column_summaries;

  explicit Counts(int64_t width = 0) : column_summaries(static_cast<size_t>(width)) {}
  void add(float x, ColumnSummary& column) {
    not_zero += x != 0.0f;
    negative += x < 0.0f;
    not_binary += x != 0.0f && x != 1.0f;
    column.add(x);
  }
  void add(const Counts& other) {
    not_zero += other.not_zero;
    negative += other.negative;
    not_binary += other.not_binary;
    zero_rows += other.zero_rows;
    for (size_t k = 0; k < column_summaries.size(); ++k) column_summaries[k].add(other.column_summaries[k]);
  }
};

Counts counted(const float* x, int64_t rows, int64_t width) {
  Counts counts(width);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t before = counts.not_zero;
    for (int64_t k = 0; k < width; ++k)
      counts.add(x[i * width + k], counts.column_summaries[static_cast<size_t>(k)]);
    counts.zero_rows += counts.not_zero == before;
  }
  return counts;
}

/// The number of parts does not depend on the number of threads.
void add_rows(Counts& counts, const Tensor& x) {
  constexpr int64_t kParts = 64, kLeast = int64_t{1} << 15;  // values per part
  const int64_t rows = x.size(0), width = x.size(1);
  const int64_t step =
      std::max({ceil_div(rows, kParts), ceil_div(kLeast, std::max<int64_t>(1, width)), int64_t{1}});
  std::vector<Counts> parts(static_cast<size_t>(ceil_div(rows, step)));
  parallel_for(rows, step, [&](int64_t begin, int64_t end) {
    parts[static_cast<size_t>(begin / step)] = counted(x.data<float>() + begin * width, end - begin, width);
  });
  for (const Counts& part : parts) counts.add(part);
}

/// `columns_of`: the columns of the column summaries; empty: all in order.
FeatureSummary finished(const Counts& counts, int64_t rows, int64_t columns,
                        const std::vector<int32_t>& columns_of = {}) {
  FeatureSummary s = counts;
  s.rows = rows;
  s.columns = columns;
  double sum = 0.0, most = 0.0;
  s.constant_columns = columns - std::ssize(counts.column_summaries);  // columns without entries
  for (const ColumnSummary& column : counts.column_summaries) {
    s.constant_columns += column.least == column.largest;
    sum += column.sum;
    most = std::max(most, column.sum);
    const auto scale = static_cast<double>(std::max(std::abs(column.least), std::abs(column.largest)));
    if (!(scale > 0.0) || std::isinf(scale)) continue;
    s.least_scale = s.least_scale == 0.0 ? scale : std::min(s.least_scale, scale);
    s.largest_scale = std::max(s.largest_scale, scale);
  }
  s.largest_share = sum > 0.0 ? most / sum : 0.0;
  for (size_t k = 0; k < counts.column_summaries.size(); ++k)
    if (counts.column_summaries[k].real)
      s.real_columns.push_back(columns_of.empty() ? static_cast<int32_t>(k) : columns_of[k]);
  std::sort(s.real_columns.begin(), s.real_columns.end());
  return s;
}

FeatureSummary of_sparse(const SparseMatrix& x) {
  const CsrMatrix matrix = x.matrix();
  const int64_t* offsets = matrix.csr.offsets.data<int64_t>();
  const int32_t* indices = matrix.csr.indices.data<int32_t>();
  const float* values = matrix.values ? matrix.values.data<float>() : nullptr;
  const int32_t* order = matrix.values && matrix.order ? matrix.order.data<int32_t>() : nullptr;
  Counts counts;
  std::vector<int32_t> columns;
  // There may be far more columns than entries: stores only columns with entries, by first appearance.
  std::unordered_map<int32_t, size_t> places;
  places.reserve(static_cast<size_t>(std::min(x.cols(), x.entries())));
  for (int64_t i = 0; i < x.rows(); ++i) {
    const int64_t before = counts.not_zero;
    for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
      const float value = values == nullptr ? 1.0f : values[order == nullptr ? e : order[e]];
      const size_t place = places.try_emplace(indices[e], counts.column_summaries.size()).first->second;
      if (place == columns.size()) {
        columns.push_back(indices[e]);
        counts.column_summaries.emplace_back();
      }
      counts.add(value, counts.column_summaries[place]);
      ++counts.column_summaries[place].entries;
    }
    counts.zero_rows += counts.not_zero == before;
  }
  for (ColumnSummary& column : counts.column_summaries)
    if (column.entries < x.rows()) column.add(0.0f);
  counts.sparse = true;
  return finished(counts, x.rows(), x.cols(), columns);
}

}  // namespace

bool FeatureSummary::is_bag_of_words() const {
  const double cells = static_cast<double>(rows) * static_cast<double>(columns);
  if (negative > 0 || not_zero == 0) return false;
  return not_binary == 0 || (4.0 * static_cast<double>(not_zero) <= cells && largest_share <= 0.1);
}

bool FeatureSummary::scales_differ() const { return largest_scale > 100.0 * least_scale; }

FeatureSummary summary_of(const Features& x) {
  const Features host = x.to(Device::cpu());
  if (host.is_sparse()) return of_sparse(host.sparse());
  const Tensor dense = host.to_dense().to(DType::f32);
  Counts counts(dense.size(1));
  add_rows(counts, dense);
  return finished(counts, dense.size(0), dense.size(1));
}

FeatureSummary summary_of(const FileRows& x) {
  Counts counts(x.cols());
  x.for_blocks([&](int64_t, const Tensor& rows) { add_rows(counts, rows); });
  return finished(counts, x.rows(), x.cols());
}

}  // namespace adj
