#include <adjoint/kernels/cuda/units.cuh>
#include <adjoint/kernels/index/slice.h>

namespace adj::kernels::cuda {

namespace {

// y is the slice. Index is unsigned int where the units can be counted in it: its division is several times
// cheaper.
template <class Unit, class Index>
__global__ void __launch_bounds__(kBlockThreads)
    slice_kernel(Index units, Index y_units, int64_t x_units, int64_t offset, const Unit* x, Unit* y) {
  begin_overlapping();
  const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < units; i += step) {
    const Index row = i / y_units;
    y[i] = x[static_cast<int64_t>(row) * x_units + offset + (i - row * y_units)];
  }
}

// y is the whole.
template <class Unit, class Index>
__global__ void __launch_bounds__(kBlockThreads)
    pad_kernel(Index units, Index y_units, int64_t x_units, int64_t offset, const Unit* x, Unit* y) {
  begin_overlapping();
  const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < units; i += step) {
    const Index row = i / y_units;
    const int64_t column = static_cast<int64_t>(i - row * y_units) - offset;
    y[i] = column >= 0 && column < x_units ? x[static_cast<int64_t>(row) * x_units + column] : Unit{};
  }
}

template <bool kPad>
void copy(const char* name, const Tensor& x, int64_t begin, Tensor& y) {
  const uint64_t before = static_cast<uint64_t>(begin) * size_of(x.dtype());
  const auto* from = x.raw_data();
  auto* to = y.raw_mutable_data();
  dispatch_unit(address(x) | address(y) | row_bytes(x) | row_bytes(y) | before, [&]<class Unit>() {
    constexpr uint64_t kUnit = sizeof(Unit);
    const auto y_units = static_cast<int64_t>(row_bytes(y) / kUnit);
    const int64_t units = y_units * y.size(0);
    const auto go = [&]<class Index>() {
      launch(name, {.device = x.device().index, .blocks = blocks_for(units), .overlaps = true},
             kPad ? pad_kernel<Unit, Index> : slice_kernel<Unit, Index>, static_cast<Index>(units),
             static_cast<Index>(y_units), static_cast<int64_t>(row_bytes(x) / kUnit),
             static_cast<int64_t>(before / kUnit), static_cast<const Unit*>(from), static_cast<Unit*>(to));
    };
    units < (int64_t{1} << 31) ? go.template operator()<uint32_t>() : go.template operator()<int64_t>();
  });
}

}  // namespace

void slice_columns(const SliceColumnsArgs& args) { copy<false>("slice_columns", args.x, args.begin, args.y); }

void pad_columns(const PadColumnsArgs& args) { copy<true>("pad_columns", args.x, args.begin, args.y); }

}  // namespace adj::kernels::cuda
