#include <adjoint/core/parallel.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/features.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/elementwise/packed_rows.h>
#include <adjoint/kernels/index/gather.h>
#include <adjoint/kernels/index/select.h>
#include <adjoint/kernels/norm/norm.h>
#include <adjoint/kernels/sparse/csr.h>

#include <algorithm>
#include <numeric>

namespace adj {

int64_t TypedFeatures::rows() const { return first_row(counts.size()); }
int64_t TypedFeatures::first_row(size_t type) const {
  return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(type), int64_t{0});
}

const TypedFeatures& Features::typed() const {
  ADJ_CHECK(is_typed(), "features: expected those of several types of nodes, but they are {}", kind());
  return *typed_;
}

const char* Features::kind() const {
  if (is_typed()) return "of several types of nodes";
  return is_dense() ? "dense" : is_sparse() ? "sparse" : is_quantized() ? "quantised" : "absent";
}

const Tensor& Features::dense() const {
  ADJ_CHECK(is_dense(), "features: expected dense ones, but they are {}", kind());
  return dense_;
}

const SparseMatrix& Features::sparse() const {
  ADJ_CHECK(is_sparse(), "features: expected sparse ones, but they are {}", kind());
  return sparse_;
}

const PackedRows& Features::quantized() const {
  ADJ_CHECK(is_quantized(), "features: expected quantised ones, but they are {}", kind());
  return quantized_;
}

int64_t Features::rows() const {
  if (is_typed()) return typed_->rows();
  return is_sparse() ? sparse_.rows() : is_quantized() ? quantized_.rows() : dense().size(0);
}
int64_t Features::cols() const {
  int64_t sum = 0;
  if (is_typed())
    for (const Tensor& x : typed_->x) sum += x ? x.size(1) : 0;
  if (is_typed()) return sum;
  return is_sparse() ? sparse_.cols() : is_quantized() ? quantized_.cols : dense().size(1);
}

Device Features::device() const {
  if (is_typed()) return typed_->device;
  return is_sparse() ? sparse_.device() : is_quantized() ? quantized_.device() : dense().device();
}

int64_t Features::bytes() const {
  const auto sum = [](std::initializer_list<Tensor> held) {
    size_t bytes = 0;
    for (const Tensor& tensor : held) bytes += tensor ? tensor.bytes() : 0;
    return static_cast<int64_t>(bytes);
  };
  if (is_typed()) {
    int64_t bytes = sum({typed_->types, typed_->numbers, typed_->order, typed_->joint});
    for (const Tensor& x : typed_->x) bytes += sum({x});
    return bytes;
  }
  if (is_quantized()) return sum({quantized_.bytes, quantized_.scale, quantized_.zero});
  if (!is_sparse()) return sum({dense()});
  const Csr& csr = sparse_.relation().csr();
  return sum({csr.offsets, csr.indices, sparse_.values()});
}

namespace {

/// These with f(x) for the tensor x of each type that has one.
template <class F>
TypedFeatures with_each(TypedFeatures rows, F&& f) {
  for (Tensor& x : rows.x)
    if (x) x = f(x);
  return rows;
}

}  // namespace

Features Features::to(Device device) const {
  if (is_typed()) {
    TypedFeatures moved = with_each(*typed_, [device](const Tensor& x) { return x.to(device); });
    moved.device = device;
    moved.types = moved.types.to(device);
    moved.numbers = moved.numbers.to(device);
    moved.order = moved.order.to(device);
    moved.joint = moved.joint.to(device);
    return Features(std::move(moved));
  }
  Features moved = *this;
  moved.dense_ = dense_.to(device);
  moved.sparse_ = sparse_.to(device);
  moved.quantized_ = quantized_.to(device);
  return moved;
}

Features Features::to(DType dtype) const {
  if (is_typed()) return Features(with_each(*typed_, [dtype](const Tensor& x) { return x.to(dtype); }));
  if (is_quantized()) return *this;
  return is_sparse() ? Features(sparse_.for_features(dtype)) : Features(dense().to(dtype));
}

Tensor Features::to_dense() const {
  if (is_quantized()) return unpacked(0, rows(), DType::f32);
  return is_sparse() ? sparse_.to_dense() : dense();
}

Tensor Features::unpacked(int64_t begin, int64_t end, DType dtype) const {
  Tensor y = Tensor::empty({end - begin, cols()}, dtype, quantized().device());
  kernels::unpack_rows(
      {.input = quantized_, .first = begin, .key = dropout_key_, .rule = dropout_rule_, .y = y});
  return y;
}

Features Features::dropped(const RandomKey& key, const DropoutRule& rule) const {
  ADJ_CHECK(is_quantized() && dropout_rule_.threshold == 0,
            "features: dropout of {} ones{}, expected quantised ones without dropout", kind(),
            dropout_rule_.threshold > 0 ? " again" : "");
  Features dropped = *this;
  dropped.dropout_key_ = key;
  dropped.dropout_rule_ = rule;
  return dropped;
}

namespace {

SparseMatrix rows_of(const SparseMatrix& x, const Tensor& index) {
  constexpr int64_t kGrain = 1 << 10;
  ADJ_CHECK(
      !x.device().is_cuda() && index && index.dims() == 1 && index.dtype() == DType::i32 && !index.is_cuda(),
      "features: rows of sparse ones on {} by {}, expected both on the CPU, the index int32 [K]",
      x.device().str(), index.str());
  const int32_t* row = index.data<int32_t>();
  const CsrMatrix whole = x.matrix();
  const int64_t* offsets = whole.csr.offsets.data<int64_t>();
  Csr csr{index.numel(), whole.csr.cols, Tensor::empty({index.numel() + 1}, DType::i64), {}};
  int64_t* row_offsets = csr.offsets.mutable_data<int64_t>();
  row_offsets[0] = 0;
  for (int64_t k = 0; k < csr.rows; ++k) {
    ADJ_CHECK(row[k] >= 0 && row[k] < x.rows(), "features: row {} at position {}, expected 0 to {}", row[k],
              k, x.rows() - 1);
    row_offsets[k + 1] = row_offsets[k] + offsets[row[k] + 1] - offsets[row[k]];
  }
  // Source entry of each new entry, for gathering the values.
  Tensor entry = Tensor::empty({row_offsets[csr.rows]}, DType::i32);
  csr.indices = Tensor::empty_like(entry);
  int32_t* entries = entry.mutable_data<int32_t>();
  int32_t* column = csr.indices.mutable_data<int32_t>();
  const int32_t* columns = whole.csr.indices.data<int32_t>();
  const int32_t* order = whole.values && whole.order ? whole.order.data<int32_t>() : nullptr;
  parallel_for(csr.rows, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      for (int64_t e = offsets[row[k]], position = row_offsets[k]; position < row_offsets[k + 1];
           ++e, ++position) {
        column[position] = columns[e];
        entries[position] = order != nullptr ? order[e] : static_cast<int32_t>(e);
      }
  });
  return SparseMatrix(Relation::from_csr(std::move(csr)),
                      whole.values ? detail::gather_edges(whole.values, entry) : Tensor());
}

Tensor gathered(const Tensor& x, const Tensor& index) {
  Tensor y = Tensor::empty({index.numel(), x.size(1)}, x.dtype(), x.device());
  kernels::gather_rows({.x = x, .index = index, .y = y});
  return y;
}

/// The rows of a batch, each type's in the order of `index`, on whose device the types are sorted.
TypedFeatures rows_of(const TypedFeatures& all, const Tensor& index) {
  ADJ_CHECK(all.whole(), "features: rows of a batch of several types of nodes, expected those of all nodes");
  const Device device = index.device();
  std::vector<int32_t> bounds{0};  // joint number of each type's first node
  for (const int64_t count : all.counts) bounds.push_back(static_cast<int32_t>(bounds.back() + count));
  Tensor outside = Tensor::empty({}, DType::i64, device);
  kernels::first_outside({.index = index, .limit = bounds.back(), .position = outside});
  const auto position = static_cast<int64_t>(outside.item());
  ADJ_CHECK(position == index.numel(), "features: row {} at position {}, expected 0 to {}",
            index.rows(position, position + 1).item(), position, bounds.back() - 1);
  const auto numbers = [&] { return Tensor::empty_like(index); };
  Tensor type = numbers(), place = numbers(), sorted = numbers(), order = numbers(), in_type = numbers(),
         offsets = Tensor::empty({std::ssize(all.counts) + 1}, DType::i64, device);
  kernels::find_ranges(
      {.index = index, .bounds = Tensor::from(bounds, device), .range = type, .place = place});
  const Tensor same = Tensor::zeros(index.shape(), DType::i32, device);
  kernels::coo_to_csr(
      {.row = type, .col = same, .cols = 1, .offsets = offsets, .indices = sorted, .order = order});
  kernels::permute({.x = place, .order = order, .y = in_type});
  const std::vector<int64_t> begins = offsets.to_vector<int64_t>();
  TypedFeatures rows{.x = all.x, .counts = {}, .device = all.device};
  for (size_t t = 0; t < all.counts.size(); ++t) rows.counts.push_back(begins[t + 1] - begins[t]);
  if (all.types) rows.types = type.to(all.device);
  rows.numbers = in_type.to(all.device);
  rows.order = kernels::inverse_of(order, index.numel()).to(all.device);
  rows.joint = index.to(all.device);
  for (size_t t = 0; t < rows.counts.size(); ++t)
    if (all.x[t]) rows.x[t] = gathered(all.x[t], rows.numbers.rows(begins[t], begins[t + 1]));
  return rows;
}

}  // namespace

Features Features::rows(const Tensor& index) const {
  if (is_typed()) return Features(rows_of(*typed_, index));
  if (is_sparse()) return rows_of(sparse_, index);
  ADJ_CHECK(dropout_rule_.threshold == 0, "features: rows of ones with dropout, expected ones without");
  const Tensor picked = gathered(is_quantized() ? quantized_.bytes : dense(), index);
  if (!is_quantized()) return Features(picked);
  Features rows = *this;
  rows.quantized_.bytes = picked;
  return rows;
}

Features Features::row_normalized() const {
  if (is_sparse()) return sparse_.row_normalized();
  ADJ_CHECK(!is_quantized(),
            "features: rows of quantised ones divided by their sums, expected division before quantisation");
  Tensor normalized = Tensor::empty_like(dense());
  kernels::sum_normalize_rows({.x = dense(), .y = normalized});
  return Features(normalized);
}

}  // namespace adj
