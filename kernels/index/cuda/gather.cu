// Rows and columns are copied as bytes, in the widest units that their widths and alignment allow, for any
// dtype.
#include <adjoint/kernels/cuda/cub.cuh>
#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/index/gather.h>

#include <algorithm>
#include <bit>
#include <vector>

#include <cub/device/device_radix_sort.cuh>

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

/// Rows of a matrix.
template <class Unit>
struct MatrixRows {
  const Unit* x;

  template <class Index>
  __device__ const Unit* row(int32_t number, Index units_per_row) const {
    return x + static_cast<int64_t>(number) * units_per_row;
  }
};

/// Rows of matrices under each other, which other GPUs may hold.
template <class Unit>
struct PartRows {
  int parts;
  const Unit* x[GatherPartsArgs::kMost];
  int32_t first[GatherPartsArgs::kMost];  // number of a part's first row

  template <class Index>
  __device__ const Unit* row(int32_t number, Index units_per_row) const {
    // All threads read the same entries, which a search by halves would not do.
    MatrixRows<Unit> part{x[0]};
    int32_t begin = 0;
    for (int p = 1; p < parts; ++p)
      if (number >= first[p]) part.x = x[p], begin = first[p];
    return part.row(number - begin, units_per_row);
  }
};

template <class Rows, class Unit, class Index>
struct GatherRows {
  Rows rows;
  Index units_per_row;
  const int32_t* index;
  Unit* y;

  __device__ void operator()(Index i) const {
    const Index k = i / units_per_row;
    y[i] = rows.row(index[k], units_per_row)[i - k * units_per_row];
  }
};

template <class Unit, class Rows>
void gather(const char* name, const Rows& rows, const Tensor& index, Tensor& y) {
  const auto per_row = static_cast<int64_t>(row_bytes(y) / sizeof(Unit));
  auto* out = static_cast<Unit*>(y.raw_mutable_data());
  for_each_narrow(name, y.device().index, per_row * index.numel(), [&]<class Index>() {
    return GatherRows<Rows, Unit, Index>{rows, static_cast<Index>(per_row), index.data<int32_t>(), out};
  });
}

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

// Gather of rows from device and host memory. K rows of F s bytes are written; device rows come at its
// bandwidth, host rows over the bus, which bounds the time (some 45 GB/s on PCIe 5).
//
// Bus latency is microseconds, so some ten thousand threads keep it full. More of them only wait and block
// concurrent kernels; so a few persistent blocks copy those rows, and the device's own rows are copied
// before, by as many blocks as needed.
//
// Each host page read needs an address translation, and with pages in random order that dominates next to a
// computing step: an epoch of GraphSAGE took 0.92 s with rows in batch order and 0.68 with them sorted.
// Coarse sort keys suffice: pages need only be close in time.

constexpr int kLine = 128;                       // bytes: a bus request is (part of) such a line
constexpr unsigned kBusBlocks = 48;              // x 256 threads x 4 units of 16 bytes in flight: 0.8 MB
constexpr uint64_t kRegion = uint64_t{1} << 19;  // bytes; rows stay unsorted within a region

// Copies units of rows k; each thread issues several loads before it waits for the first. A group of
// 2^lanes_log2 adjacent threads takes as many units at a time, aligned to a line.
template <class Unit, class From, class To>
__device__ __forceinline__ void copy_rows(int64_t rows, int64_t units_per_row, int lanes_log2,
                                          const From& source, const To& target, Unit* __restrict__ y) {
  constexpr int kAhead = 4;
  const int lanes = 1 << lanes_log2, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int line = min(static_cast<int>(kLine / sizeof(Unit)), lanes);
  // A row that begins within a line may take one more step.
  const int64_t steps = (units_per_row + line - 1 + lanes - 1) >> lanes_log2, all = rows * steps;
  const int64_t stride = (static_cast<int64_t>(gridDim.x) * blockDim.x) >> lanes_log2;
  for (int64_t first = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) >> lanes_log2;
       first < all; first += kAhead * stride) {
    Unit unit[kAhead];
    int64_t place[kAhead];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      place[a] = -1;
      const int64_t i = first + a * stride;
      if (i >= all) continue;
      const int64_t k = i / steps;
      const Unit* row = source(k);
      const auto into_line = static_cast<int>((reinterpret_cast<uintptr_t>(row) / sizeof(Unit)) &
                                              static_cast<unsigned>(line - 1));
      const int64_t column = (i - k * steps) * lanes + lane - into_line;
      if (column < 0 || column >= units_per_row) continue;
      unit[a] = row[column];
      place[a] = target(k) * units_per_row + column;
    }
#pragma unroll
    for (int a = 0; a < kAhead; ++a)
      if (place[a] >= 0) y[place[a]] = unit[a];
  }
}

/// The listed rows, by persistent blocks.
template <class Unit>
__global__ void __launch_bounds__(kBlockThreads)
    gather_cold_kernel(const int32_t* __restrict__ listed, const int32_t* __restrict__ list,
                       int64_t units_per_row, int lanes_log2, const Unit* __restrict__ cold,
                       const int32_t* __restrict__ locations, Unit* __restrict__ y) {
  begin_overlapping();
  copy_rows(
      *listed, units_per_row, lanes_log2,
      [=](int64_t c) { return cold + (-1 - static_cast<int64_t>(locations[list[c]])) * units_per_row; },
      [=](int64_t c) { return static_cast<int64_t>(list[c]); }, y);
}

/// All rows, or only the hot ones.
template <class Unit, class Index>
__global__ void __launch_bounds__(kBlockThreads)
    gather_kernel(Index units, Index units_per_row, const Unit* __restrict__ hot,
                  const Unit* __restrict__ cold, bool cold_too, const int32_t* __restrict__ locations,
                  Unit* __restrict__ y) {
  constexpr int kAhead = 4;
  begin_overlapping();
  const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index first = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; first < units;
       first += kAhead * step) {
    Unit unit[kAhead];
    bool taken[kAhead];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      taken[a] = false;
      const int64_t i = static_cast<int64_t>(first) + a * static_cast<int64_t>(step);
      if (i >= static_cast<int64_t>(units)) continue;
      const Index k = static_cast<Index>(i) / units_per_row;
      const Index column = static_cast<Index>(i) - k * units_per_row;
      const int32_t row = locations[k];
      taken[a] = row >= 0 || cold_too;
      if (!taken[a]) continue;
      unit[a] = row >= 0 ? hot[static_cast<int64_t>(row) * units_per_row + column]
                         : cold[(-1 - static_cast<int64_t>(row)) * units_per_row + column];
    }
#pragma unroll
    for (int a = 0; a < kAhead; ++a)
      if (taken[a]) y[static_cast<int64_t>(first) + a * static_cast<int64_t>(step)] = unit[a];
  }
}

/// The region of each cold row, `beyond` for hot ones; k for each.
__global__ void __launch_bounds__(kBlockThreads)
    find_regions(int64_t n, int region_log2, uint32_t beyond, const int32_t* __restrict__ locations,
                 uint32_t* __restrict__ region, int32_t* __restrict__ number, int32_t* cold_rows) {
  begin_overlapping();
  const int64_t k = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const bool is_cold = k < n && locations[k] < 0;
  const unsigned cold = __ballot_sync(~0u, is_cold);
  if (threadIdx.x % 32 == 0 && cold != 0) atomicAdd(cold_rows, __popc(cold));
  if (k >= n) return;
  region[k] = is_cold ? static_cast<uint32_t>(-1 - locations[k]) >> region_log2 : beyond;
  number[k] = static_cast<int32_t>(k);
}

/// The k of cold rows, sorted by region, and their number.
struct ColdList {
  Tensor numbers, count;
};

ColdList list_cold(const GatherCachedArgs& args, uint64_t row_bytes) {
  const Device device = args.hot.device();
  const int64_t n = args.at.numel();
  const int region_log2 = std::bit_width(std::max<uint64_t>(1, kRegion / row_bytes)) - 1;
  const auto beyond = static_cast<uint32_t>(((args.cold.rows - 1) >> region_log2) + 1);
  const auto scratch = [&] { return Tensor::empty({n}, DType::i32, device); };
  Tensor region = scratch(), sorted_region = scratch(), number = scratch();
  ColdList list{scratch(), Tensor::zeros({}, DType::i32, device)};
  const auto keys_of = [](Tensor& t) { return reinterpret_cast<uint32_t*>(t.mutable_data<int32_t>()); };
  uint32_t *key = keys_of(region), *sorted_key = keys_of(sorted_region);
  int32_t* numbers = number.mutable_data<int32_t>();
  int32_t* sorted_numbers = list.numbers.mutable_data<int32_t>();
  launch("gather_cached", over(device.index, n), find_regions, n, region_log2, beyond,
         args.at.data<int32_t>(), key, numbers, list.count.mutable_data<int32_t>());
  with_workspace(device, [&](void* memory, size_t& bytes, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, key, sorted_key, numbers, sorted_numbers, n, 0,
                                           std::bit_width(beyond), stream);
  });
  return list;
}

template <class Unit>
void gather_all(const GatherCachedArgs& args, int64_t units_per_row, bool cold_too) {
  const int64_t units = units_per_row * args.at.numel();
  const auto launch_with = [&]<class Index>() {
    launch("gather_cached", over(args.hot.device().index, units, 4), gather_kernel<Unit, Index>,
           static_cast<Index>(units), static_cast<Index>(units_per_row),
           static_cast<const Unit*>(args.hot.raw_data()), static_cast<const Unit*>(args.cold.data), cold_too,
           args.at.data<int32_t>(), static_cast<Unit*>(args.y.raw_mutable_data()));
  };
  // 32-bit division is several times cheaper; prefetched indices must fit as well.
  units < (int64_t{1} << 30) ? launch_with.template operator()<uint32_t>()
                             : launch_with.template operator()<int64_t>();
}

template <class Unit>
void gather_listed(const GatherCachedArgs& args, int64_t units_per_row, const ColdList& list) {
  const auto lanes_log2 =
      static_cast<int>(std::bit_width(static_cast<uint64_t>(std::min<int64_t>(units_per_row, 32) - 1)));
  launch("gather_cached", overlapping(args.hot.device().index, kBusBlocks), gather_cold_kernel<Unit>,
         list.count.data<int32_t>(), list.numbers.data<int32_t>(), units_per_row, lanes_log2,
         static_cast<const Unit*>(args.cold.data), args.at.data<int32_t>(),
         static_cast<Unit*>(args.y.raw_mutable_data()));
}

}  // namespace

void gather_rows(const GatherRowsArgs& args) {
  dispatch_unit(address(args.x) | address(args.y) | row_bytes(args.x), [&]<class Unit>() {
    const MatrixRows<Unit> rows{static_cast<const Unit*>(args.x.raw_data())};
    gather<Unit>("gather_rows", rows, args.index, args.y);
  });
}

void gather_parts(const GatherPartsArgs& args) {
  uint64_t all = address(args.y) | row_bytes(args.y);
  for (const Tensor& part : args.parts) all |= address(part);
  dispatch_unit(all, [&]<class Unit>() {
    PartRows<Unit> rows{};
    int64_t first = 0;
    for (const Tensor& part : args.parts) {
      rows.x[rows.parts] = static_cast<const Unit*>(part.raw_data());
      rows.first[rows.parts++] = static_cast<int32_t>(first);
      first += part.size(0);
    }
    gather<Unit>("gather_parts", rows, args.index, args.y);
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

void gather_cached(const GatherCachedArgs& args) {
  const uint64_t row = bytes_of({args.hot.size(1)}, args.hot.dtype());
  if (row == 0 || args.at.numel() == 0) return;
  const uint64_t all = row | reinterpret_cast<uintptr_t>(args.hot.raw_data()) |
                       reinterpret_cast<uintptr_t>(args.cold.data) |
                       reinterpret_cast<uintptr_t>(args.y.raw_data());
  const auto go = [&]<class Unit>() {
    const auto units_per_row = static_cast<int64_t>(row / sizeof(Unit));
    const bool apart = args.cold.on_host && args.cold.rows > 0;
    gather_all<Unit>(args, units_per_row, !apart);
    if (apart) gather_listed<Unit>(args, units_per_row, list_cold(args, row));
  };
  if (all % 16 == 0) return go.template operator()<uint4>();
  if (all % 4 == 0) return go.template operator()<uint32_t>();
  go.template operator()<uint8_t>();
}

}  // namespace adj::kernels::cuda
