#include <adjoint/core/capture.h>
#include <adjoint/core/detail/carrier.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

namespace adj {

struct SparseMatrix::KeptTileValues {
  struct Kept {
    uint64_t version = 0;
    kernels::TileValues values;
  };
  std::mutex mutex;
  std::map<std::tuple<int64_t, bool, DType>, Kept> kept;  // by the cut's threshold
};

void detail::sort_rows(Csr& csr, Tensor& values) {
  const int64_t* offsets = csr.offsets.data<int64_t>();
  int32_t* columns = csr.indices.mutable_data<int32_t>();
  float* x = values ? values.mutable_data<float>() : nullptr;
  std::vector<std::pair<int32_t, float>> row;
  for (int64_t i = 0; i < csr.rows; ++i) {
    const int64_t begin = offsets[i], end = offsets[i + 1];
    if (std::is_sorted(columns + begin, columns + end)) continue;
    row.clear();
    for (int64_t e = begin; e < end; ++e) row.emplace_back(columns[e], x == nullptr ? 1.0f : x[e]);
    std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (int64_t e = begin; e < end; ++e) {
      columns[e] = row[static_cast<size_t>(e - begin)].first;
      if (x != nullptr) x[e] = row[static_cast<size_t>(e - begin)].second;
    }
  }
}

SparseMatrix::SparseMatrix(Relation relation, Tensor values)
    : relation_(std::move(relation)), values_(std::move(values)) {
  ADJ_CHECK(!values_ || (values_.dims() == 1 && values_.numel() == entries() &&
                         is_floating(values_.dtype()) && values_.device() == device()),
            "sparse matrix: values are {}, expected floating [{}] on {}", values_.str(), entries(),
            device().str());
  if (values_) tile_values_ = std::make_shared<KeptTileValues>();
}

SparseMatrix::SparseMatrix(Relation part, Tensor values, Tensor adjoint_values)
    : SparseMatrix(std::move(part), std::move(values)) {
  adjoint_values_ = std::move(adjoint_values);
  if (values_) kept_version_ = values_.version();
}

SparseMatrix SparseMatrix::from_csr(int64_t rows, int64_t cols, const std::vector<int64_t>& offsets,
                                    const std::vector<int32_t>& indices, const std::vector<float>& values) {
  const auto entries = static_cast<int64_t>(indices.size());
  ADJ_CHECK(rows >= 0 && cols >= 0 && static_cast<int64_t>(offsets.size()) == rows + 1,
            "sparse matrix [{}, {}]: {} offsets, expected {}", rows, cols, offsets.size(), rows + 1);
  ADJ_CHECK(offsets.front() == 0 && offsets.back() == entries,
            "sparse matrix: offsets run from {} to {}, expected 0 to {}", offsets.front(), offsets.back(),
            entries);
  ADJ_CHECK(values.empty() || values.size() == indices.size(), "sparse matrix: {} values, expected {}",
            values.size(), entries);
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    ADJ_CHECK(offsets[i] <= offsets[i + 1] && offsets[i + 1] <= entries,
              "sparse matrix: offsets fall from {} to {} at row {}", offsets[i], offsets[i + 1], i);
    for (auto e = static_cast<size_t>(offsets[i]); e < static_cast<size_t>(offsets[i + 1]); ++e)
      ADJ_CHECK(indices[e] >= 0 && indices[e] < cols, "sparse matrix: column {} in row {}, expected 0 to {}",
                indices[e], i, cols - 1);
  }
  Csr csr{rows, cols, Tensor::from(offsets), Tensor::from(indices)};
  Tensor kept = values.empty() ? Tensor() : Tensor::from(values);
  detail::sort_rows(csr, kept);
  return SparseMatrix(Relation::from_csr(std::move(csr)), std::move(kept));
}

void SparseMatrix::check_kept() const {
  ADJ_CHECK((!self_adjoint_ && !adjoint_values_) || values_.version() == kept_version_,
            "sparse matrix [{}, {}]: its values were changed in place after keep_adjoint(), which must be "
            "called again",
            rows(), cols());
}

CsrMatrix SparseMatrix::adjoint() const {
  check_kept();
  if (self_adjoint_) return matrix();
  if (adjoint_values_) return {relation_.transposed(), adjoint_values_, {}};
  return relation_.adjoint(values_);
}

SparseMatrix SparseMatrix::for_features(DType dtype) const {
  if (!values_ || dtype != DType::f64 || values_.dtype() == dtype) return *this;
  SparseMatrix wide = with_values(values_.to(dtype));
  wide.self_adjoint_ = self_adjoint_;
  if (adjoint_values_) wide.adjoint_values_ = adjoint_values_.to(dtype);
  wide.kept_version_ = wide.values_.version();
  return wide;
}

void SparseMatrix::set_factors(Tensor row, Tensor column) {
  const auto check = [&](const char* name, const Tensor& factor, int64_t size) {
    ADJ_CHECK(!factor || (factor.shape() == Shape{size} && factor.dtype() == DType::f32 &&
                          factor.device() == device()),
              "sparse matrix [{}, {}]: {} is {}, expected float32 [{}] on {}", rows(), cols(), name,
              factor.str(), size, device().str());
  };
  check("row", row, rows());
  check("column", column, cols());
  row_factor_ = std::move(row);
  column_factor_ = std::move(column);
  factored_version_ = values_ ? values_.version() : 0;
}

kernels::TileValues SparseMatrix::tile_values(const RowTiles& tiles, bool of_adjoint, DType features) const {
  if (!values_) return {};
  if (has_factors()) {
    kernels::TileValues factors;
    factors.row_factor = of_adjoint ? column_factor_ : row_factor_;
    factors.column_factor = of_adjoint ? row_factor_ : column_factor_;
    return factors;
  }
  const CsrMatrix a = of_adjoint ? adjoint() : matrix();
  const auto make = [&] { return kernels::make_tile_values(tiles, a.values, a.order, features); };
  const std::lock_guard lock(tile_values_->mutex);
  const std::tuple key{tiles.least, of_adjoint && !self_adjoint_, features};
  const auto found = tile_values_->kept.find(key);
  if (found != tile_values_->kept.end() && found->second.version == values_.version())
    return found->second.values;
  if (capturing(device())) return make();
  return (tile_values_->kept[key] = {values_.version(), make()}).values;
}

void SparseMatrix::keep_adjoint(bool self_adjoint) {
  if (!relation_.knows_out_edges()) return;  // aggregate() then goes over the in-edges in both directions
  ADJ_CHECK(!self_adjoint || rows() == cols(), "sparse matrix [{}, {}]: not square, so not its own adjoint",
            rows(), cols());
  self_adjoint_ = self_adjoint;
  const bool known = adjoint_values_ && values_.version() == kept_version_;
  kept_version_ = values_.version();
  if (self_adjoint || !values_ || known || !relation_.transposed_order()) return;
  adjoint_values_ = Tensor::empty_like(values_);
  kernels::permute({.x = values_, .order = relation_.transposed_order(), .y = adjoint_values_});
}

SparseMatrix SparseMatrix::to(Device device) const { return detail::carried(*this, device); }

SparseMatrix SparseMatrix::carried_to(detail::Carrier& carrier) const {
  if (!relation_ || carrier.device() == device()) return *this;
  check_kept();
  SparseMatrix moved(carrier.carry(relation_), carrier.carry(values_));
  if (has_factors()) moved.set_factors(carrier.carry(row_factor_), carrier.carry(column_factor_));
  moved.kept_version_ = moved.values_.version();
  moved.adjoint_values_ = carrier.carry(adjoint_values_);
  moved.self_adjoint_ = self_adjoint_;
  return moved;
}

Tensor SparseMatrix::to_dense() const {
  Tensor dense = Tensor::empty({rows(), cols()}, DType::f32, device());
  const CsrMatrix stored = matrix();
  const Tensor values = stored.values ? stored.values.to(DType::f32) : Tensor();
  kernels::csr_to_dense({.a = {stored.csr, values, stored.order}, .y = dense});
  return dense;
}

SparseMatrix SparseMatrix::row_normalized() const {
  Tensor weights = Tensor::empty({entries()}, values_ ? values_.dtype() : DType::f32, device());
  kernels::row_normalize_entries({.a = matrix(), .weights = weights});
  return SparseMatrix(relation_.sorted(), std::move(weights));
}

}  // namespace adj
