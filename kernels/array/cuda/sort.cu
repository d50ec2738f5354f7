// Two stable radix sorts of all elements: by their values, then by their rows.
#include <adjoint/kernels/array/sort.h>
#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/index/select.h>
#include <adjoint/kernels/sparse/cuda/sort.cuh>

namespace adj::kernels::cuda {

namespace {

template <class T, class Key>
struct KeyOf {
  const T* x;
  Key* key;
  bool descending;
  __device__ void operator()(int64_t i) const { key[i] = detail::sort_key(widen(x[i]), descending); }
};

/// The order of all elements by their values.
template <class T>
void sort_values(const SortRowsArgs& args, const int32_t* iota, int32_t* order) {
  using Key = decltype(detail::sort_key(Accumulator<T>{}, false));
  const Device device = args.x.device();
  const int64_t n = args.x.numel();
  Tensor keys = empty_keys<Key>(n, device), sorted = empty_keys<Key>(n, device);
  auto* key = static_cast<Key*>(keys.raw_mutable_data());
  for_each("sort_rows", device.index, n, KeyOf<T, Key>{args.x.data<T>(), key, args.descending});
  sort_pairs(key, static_cast<Key*>(sorted.raw_mutable_data()), iota, order, n,
             8 * static_cast<int>(sizeof(Key)), device);
}

}  // namespace

void sort_rows(const SortRowsArgs& args) {
  const Device device = args.x.device();
  const int64_t rows = args.x.size(0), columns = args.x.size(1), kept = args.indices.size(1),
                n = args.x.numel();
  if (rows * kept == 0) return;
  const auto scratch = [&] { return Tensor::empty({n}, DType::i32, device); };
  Tensor iota = scratch(), by_value = scratch(), order = scratch();
  kernels::iota({.y = iota});
  int32_t *numbers = iota.mutable_data<int32_t>(), *sorted = by_value.mutable_data<int32_t>();
  dispatch_features(args.x.dtype(), [&]<class T>() { sort_values<T>(args, numbers, sorted); });
  const int32_t* result = sorted;
  if (rows > 1) {
    Tensor row = scratch(), sorted_row = scratch();
    auto *key = reinterpret_cast<uint32_t*>(row.mutable_data<int32_t>()),
         *out = reinterpret_cast<uint32_t*>(sorted_row.mutable_data<int32_t>());
    for_each("sort_rows", device.index, n,
             [=] __device__(int64_t i) { key[i] = static_cast<uint32_t>(sorted[i] / columns); });
    sort_pairs(key, out, sorted, order.mutable_data<int32_t>(), n, bits_for(rows), device);
    result = order.data<int32_t>();
  }
  int32_t *indices = args.indices.mutable_data<int32_t>(),
          *positions = args.positions.mutable_data<int32_t>();
  for_each("sort_rows", device.index, rows * kept, [=] __device__(int64_t i) {
    const int64_t r = i / kept;
    const int32_t position = result[r * columns + (i - r * kept)];
    positions[i] = position;
    indices[i] = position - static_cast<int32_t>(r * columns);
  });
}

}  // namespace adj::kernels::cuda
