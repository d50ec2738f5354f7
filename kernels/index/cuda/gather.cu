// Rows and columns are copied as bytes, in the widest units that their widths and alignment allow, for any
// dtype.
#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/index/gather.h>

#include <algorithm>
#include <vector>

namespace adj::kernels::cuda {

namespace {

/// Calls f<Unit>() with the widest unit, at most 16 bytes, whose size divides every number or-ed into `all`.
template <class F>
void dispatch_unit(uint64_t all, F&& f) {
  if (all % 16 == 0) return f.template operator()<uint4>();
  if (all % 8 == 0) return f.template operator()<uint64_t>();
  if (all % 4 == 0) return f.template operator()<uint32_t>();
  if (all % 2 == 0) return f.template operator()<uint16_t>();
  f.template operator()<uint8_t>();
}

uint64_t address(const Tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.raw_data()); }
uint64_t row_bytes(const Tensor& tensor) { return bytes_of({tensor.size(1)}, tensor.dtype()); }

template <class Unit, class Index>
struct GatherRows {
  Index units_per_row;
  const Unit* x;
  const int32_t* index;
  Unit* y;

  __device__ void operator()(Index i) const {
    const Index k = i / units_per_row;
    y[i] = x[static_cast<int64_t>(index[k]) * units_per_row + (i - k * units_per_row)];
  }
};

constexpr int kMostParts = 32;

/// Column blocks of one matrix and the matrices that hold them, in units.
struct Parts {
  void* data[kMostParts];
  int64_t units[kMostParts];   // per row of the part
  int64_t offset[kMostParts];  // of the part in a row of the whole
};

// blockIdx.y is the part.
template <class Unit, bool kJoin>
__global__ void __launch_bounds__(kBlockThreads)
    parts_kernel(const __grid_constant__ Parts parts, int64_t rows, int64_t units_per_row, Unit* whole) {
  begin_overlapping();
  const int64_t width = parts.units[blockIdx.y], offset = parts.offset[blockIdx.y];
  Unit* part = static_cast<Unit*>(parts.data[blockIdx.y]);
  const int64_t units = rows * width, step = int64_t{gridDim.x} * blockDim.x;
  const bool narrow = units + step <= 0xffffffff;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < units; i += step) {
    // 32-bit division is several times cheaper.
    const int64_t row = narrow ? static_cast<uint32_t>(i) / static_cast<uint32_t>(width) : i / width;
    const int64_t index = row * units_per_row + offset + (i - row * width);
    if constexpr (kJoin) {
      whole[index] = part[i];
    } else {
      part[i] = whole[index];
    }
  }
}

template <bool kJoin>
void copy_parts(const char* name, std::span<const Tensor> parts, std::span<void* const> addresses,
                void* whole, const Tensor& matrix) {
  uint64_t all = address(matrix) | row_bytes(matrix), offset = 0;
  for (const Tensor& part : parts) all |= address(part) | row_bytes(part);
  dispatch_unit(all, [&]<class Unit>() {
    constexpr uint64_t kUnit = sizeof(Unit);
    for (size_t first = 0; first < parts.size(); first += kMostParts) {
      const size_t count = std::min<size_t>(parts.size() - first, kMostParts);
      Parts table{};
      int64_t most = 0;
      for (size_t p = 0; p < count; ++p) {
        const uint64_t bytes = row_bytes(parts[first + p]);
        table.data[p] = addresses[first + p];
        table.units[p] = static_cast<int64_t>(bytes / kUnit);
        table.offset[p] = static_cast<int64_t>(offset / kUnit);
        offset += bytes;
        most = std::max(most, table.units[p]);
      }
      launch(name, overlapping(matrix.device().index, grid(blocks_for(most * matrix.size(0)), count)),
             parts_kernel<Unit, kJoin>, table, matrix.size(0),
             static_cast<int64_t>(row_bytes(matrix) / kUnit), static_cast<Unit*>(whole));
    }
  });
}

}  // namespace

void gather_rows(const GatherRowsArgs& args) {
  dispatch_unit(address(args.x) | address(args.y) | row_bytes(args.x), [&]<class Unit>() {
    const auto per_row = static_cast<int64_t>(row_bytes(args.x) / sizeof(Unit));
    const auto* x = static_cast<const Unit*>(args.x.raw_data());
    auto* y = static_cast<Unit*>(args.y.raw_mutable_data());
    for_each_narrow("gather_rows", args.x.device().index, per_row * args.index.numel(), [&]<class Index>() {
      return GatherRows<Unit, Index>{static_cast<Index>(per_row), x, args.index.data<int32_t>(), y};
    });
  });
}

void concat_columns(const ConcatColumnsArgs& args) {
  std::vector<void*> addresses;
  for (const Tensor& part : args.parts) addresses.push_back(const_cast<void*>(part.raw_data()));
  copy_parts<true>("concat_columns", args.parts, addresses, args.y.raw_mutable_data(), args.y);
}

void split_columns(const SplitColumnsArgs& args) {
  std::vector<void*> addresses;
  for (Tensor& part : args.parts) addresses.push_back(part.raw_mutable_data());
  copy_parts<false>("split_columns", args.parts, addresses, const_cast<void*>(args.y.raw_data()), args.y);
}

namespace {

/// kPad: y is the full matrix; else it is the slice.
template <bool kPad, class Unit, class Index>
struct CopyColumns {
  Index y_units;
  int64_t x_units, offset;
  const Unit* x;
  Unit* y;

  __device__ void operator()(Index i) const {
    const Index row = i / y_units;
    const Unit* const source = x + static_cast<int64_t>(row) * x_units;
    const int64_t column = static_cast<int64_t>(i - row * y_units) + (kPad ? -offset : offset);
    y[i] = !kPad || (column >= 0 && column < x_units) ? source[column] : Unit{};
  }
};

template <bool kPad>
void copy(const char* name, const Tensor& x, int64_t begin, Tensor& y) {
  const uint64_t before = static_cast<uint64_t>(begin) * size_of(x.dtype());
  dispatch_unit(address(x) | address(y) | row_bytes(x) | row_bytes(y) | before, [&]<class Unit>() {
    constexpr uint64_t kUnit = sizeof(Unit);
    const auto y_units = static_cast<int64_t>(row_bytes(y) / kUnit);
    const auto* source = static_cast<const Unit*>(x.raw_data());
    auto* destination = static_cast<Unit*>(y.raw_mutable_data());
    for_each_narrow(name, x.device().index, y_units * y.size(0), [&]<class Index>() {
      return CopyColumns<kPad, Unit, Index>{static_cast<Index>(y_units),
                                            static_cast<int64_t>(row_bytes(x) / kUnit),
                                            static_cast<int64_t>(before / kUnit), source, destination};
    });
  });
}

}  // namespace

void slice_columns(const SliceColumnsArgs& args) { copy<false>("slice_columns", args.x, args.begin, args.y); }

void pad_columns(const PadColumnsArgs& args) { copy<true>("pad_columns", args.x, args.begin, args.y); }

}  // namespace adj::kernels::cuda
