// Products of tiles of 256 rows of one group each, whose rows are gathered into a buffer of the thread. A
// group's last tile is padded to a multiple of 32 rows (64 at least in products), so that a few compiled
// products serve groups of all sizes. bfloat16 is widened in the buffer.
#include <adjoint/kernels/cpu/index.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/dense/cpu/tile_product.h>
#include <adjoint/kernels/dense/grouped_gemm.h>

#include <algorithm>
#include <memory>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kGroupRows = 256, kGroupUnit = 32;
constexpr int64_t kGroupWork = int64_t{1} << 19;  // multiply-adds per task: some 10 µs
constexpr int64_t kGradientPieces = 128;

int64_t padded(int64_t rows) { return ceil_div(rows, kGroupUnit) * kGroupUnit; }
// oneDNN adds up products of 32 rows in another order than those of more: a row's bits are to be the same.
int64_t padded_product(int64_t rows) { return std::max(padded(rows), 2 * kGroupUnit); }
int64_t tiles_per_task(int64_t inner, int64_t outer) {
  return std::max<int64_t>(1, kGroupWork / (kGroupRows * inner * std::max<int64_t>(outer, 16)));
}

/// `width` columns of some rows of a matrix.
template <class S>
struct GroupedRows {
  const S* columns;
  const int32_t* index;  ///< null: in order
  int64_t stride, width;

  /// Rows [begin, end) in the compute type, `buffer` holding them unless they are there already; zeros up to
  /// `all` rows.
  template <class T>
  const T* load(int64_t begin, int64_t end, int64_t all, T* buffer, int64_t& pitch) const {
    const int64_t rows = end - begin;
    if constexpr (std::is_same_v<S, T>) {
      pitch = stride;
      if (index == nullptr && all == rows) return columns + begin * stride;
    }
    pitch = width;
    for (int64_t i = 0; i < rows; ++i) {
      const S* row = columns + (index == nullptr ? begin + i : index[begin + i]) * stride;
      T* copy = buffer + i * width;
#pragma omp simd
      for (int64_t j = 0; j < width; ++j) copy[j] = widen(row[j]);
    }
    std::fill(buffer + rows * width, buffer + all * width, T{0});
    return buffer;
  }
};

template <class T>
std::unique_ptr<T[]> buffer_of(int64_t width) {
  return std::make_unique_for_overwrite<T[]>(static_cast<size_t>(kGroupRows * width));
}

/// The matrices [G B, K, F], transposed if they are stored so: of a product by stored columns the bits of a
/// row depend on how many rows are multiplied with it.
template <class T>
Tensor matrices_of(const GroupedGemmArgs& args) {
  const Tensor stored = args.b.to(dtype_of<T>());
  if (args.trans_b == Transpose::no) return stored;
  const int64_t inner = args.inner(), outer = args.outer();
  Tensor turned = Tensor::empty({args.b.size(0), inner, outer}, stored.dtype());
  const T* columns = stored.data<T>();
  T* rows = turned.mutable_data<T>();
  for_rows(args.b.size(0) * inner, outer, [=](int64_t row) {
    const T* const column = columns + row / inner * inner * outer + row % inner;
    for (int64_t j = 0; j < outer; ++j) rows[row * outer + j] = column[j * inner];
  });
  return turned;
}

template <class S>
void multiply_groups(const GroupedGemmArgs& args) {
  using T = Accumulator<S>;
  const int64_t inner = args.inner(), outer = args.outer(), blocks = args.blocks(), stride = blocks * outer;
  const Tensor wide = matrices_of<T>(args);
  const T* weights = wide.data<T>();
  const S *x = args.x.data<S>(), *bias = data_or_null<S>(args.bias);
  const int32_t *index = data_or_null<int32_t>(args.index), *place = data_or_null<int32_t>(args.place);
  S* c = args.c.mutable_data<S>();
  const GroupTiles tiles{args.offsets.data<int64_t>(), args.groups(), shift_of(kGroupRows, 0, 0)};
  parallel_for(
      tiles.count(args.c.size(0)) * blocks, tiles_per_task(inner, outer), [=](int64_t k, int64_t last) {
        const auto left = buffer_of<T>(inner), right = buffer_of<T>(outer);
        for (; k < last; ++k) {
          const auto [group, begin, end] = tiles.tile(k / blocks);
          if (begin >= end) continue;
          const int64_t block = k % blocks, rows = padded_product(end - begin);
          int64_t pitch = 0;
          const GroupedRows<S> source{x + block * inner, index, blocks * inner, inner};
          const T* const a = source.load(begin, end, rows, left.get(), pitch);
          S* const output = c + block * outer;
          T* product = right.get();
          bool direct = false;
          if constexpr (std::is_same_v<S, T>) {
            direct = rows == end - begin && bias == nullptr && place == nullptr;
            if (direct) product = output + begin * stride;
          }
          const TileShape shape{.m = rows,
                                .k = inner,
                                .n = outer,
                                .turned_a = false,
                                .turned_b = false,
                                .stride_a = pitch,
                                .stride_b = outer,
                                .stride_c = direct ? stride : outer,
                                .bias = false,
                                .relu = false};
          TileProduct<T>{shape}(a, weights + (group * blocks + block) * inner * outer, nullptr, product);
          if (direct) continue;
          const S* const shift = bias == nullptr ? nullptr : bias + group * stride + block * outer;
          for (int64_t i = 0; i < end - begin; ++i) {
            S* const row = output + (place == nullptr ? begin + i : place[begin + i]) * stride;
            for (int64_t j = 0; j < outer; ++j)
              row[j] = narrow<S>(product[i * outer + j] + (shift == nullptr ? T{0} : T{widen(shift[j])}));
          }
        }
      });
}

template <class S>
void multiply_groups_transposed(const GroupedWeightGradientArgs& args) {
  using T = Accumulator<S>;
  const int64_t inner = args.dw.size(1), outer = args.dw.size(2), blocks = args.blocks(),
                size = inner * outer, rows = args.dz.size(0);
  const S *x = args.x.data<S>(), *dz = args.dz.data<S>();
  const int32_t *index = data_or_null<int32_t>(args.index), *place = data_or_null<int32_t>(args.place);
  const GroupTiles pieces{args.offsets.data<int64_t>(), args.groups(),
                          shift_of(kGroupRows, args.piece_rows(), kGradientPieces)};
  Tensor scratch = Tensor::empty({pieces.count(rows) * blocks, size}, dtype_of<T>());
  T* const partial = scratch.mutable_data<T>();
  parallel_for(pieces.count(rows) * blocks, 1, [=](int64_t k, int64_t) {
    const auto [group, first, last] = pieces.tile(k / blocks);
    if (first >= last) return;
    const int64_t block = k % blocks;
    const auto left = buffer_of<T>(inner), right = buffer_of<T>(outer);
    const auto product = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(size));
    T* const sum = partial + k * size;
    for (int64_t begin = first; begin < last; begin += kGroupRows) {
      const int64_t end = std::min(begin + kGroupRows, last);
      TileShape shape{.m = inner,
                      .k = padded(end - begin),
                      .n = outer,
                      .turned_a = true,
                      .turned_b = false,
                      .stride_a = inner,
                      .stride_b = outer,
                      .stride_c = outer,
                      .bias = false,
                      .relu = false};
      const GroupedRows<S> a{x + block * inner, index, blocks * inner, inner},
          b{dz + block * outer, place, blocks * outer, outer};
      const T* const rows_of_a = a.load(begin, end, shape.k, left.get(), shape.stride_a);
      const T* const rows_of_b = b.load(begin, end, shape.k, right.get(), shape.stride_b);
      TileProduct<T>{shape}(rows_of_a, rows_of_b, nullptr, begin == first ? sum : product.get());
      if (begin == first) continue;
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) sum[i] += product[i];
    }
  });
  S* const dw = args.dw.mutable_data<S>();
  for_rows(args.dw.size(0) * inner, outer, [=](int64_t row) {
    const int64_t matrix = row / inner, group = matrix / blocks, block = matrix % blocks;
    const int64_t begin = pieces.offsets[group], end = pieces.offsets[group + 1];
    const T* part = partial + (pieces.first(group) * blocks + block) * size + row % inner * outer;
    for (int64_t j = 0; j < outer; ++j) {
      T sum = 0;
      for (int64_t p = 0; begin + p * pieces.size() < end; ++p) sum += part[p * blocks * size + j];
      dw[row * outer + j] = narrow<S>(sum);
    }
  });
}

}  // namespace

void grouped_gemm(const GroupedGemmArgs& args) {
  if (args.index) require_in_range("grouped_gemm", "index", args.index, args.x.size(0));
  if (args.place) require_in_range("grouped_gemm", "place", args.place, args.c.size(0));
  dispatch_features(args.c.dtype(), [&]<class S>() { multiply_groups<S>(args); });
}

void grouped_weight_gradient(const GroupedWeightGradientArgs& args) {
  if (args.index) require_in_range("grouped_weight_gradient", "index", args.index, args.x.size(0));
  if (args.place) require_in_range("grouped_weight_gradient", "place", args.place, args.dz.size(0));
  dispatch_features(args.dw.dtype(), [&]<class S>() { multiply_groups_transposed<S>(args); });
}

}  // namespace adj::kernels::cpu
