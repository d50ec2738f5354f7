#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/narrow_bytes.h>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kChunk = 1 << 14;  // bytes

}  // namespace

void narrow_bytes(const NarrowBytesArgs& args) {
  const auto* x = args.x.bytes.data<uint8_t>();
  auto* to = args.to.mutable_data<uint8_t>();
  const NarrowPlaces places(args.x);
  parallel_for(args.to.numel(), kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = places.narrowed(x, i);
  });
}

void widen_bytes(const WidenBytesArgs& args) {
  const auto* from = args.from.data<uint8_t>();
  auto* to = args.to.bytes.mutable_data<uint8_t>();
  const NarrowPlaces places(args.to);
  parallel_for(places.rows.used(), kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[places.rows.place(i)] = places.widened(from, i);
  });
}

}  // namespace adj::kernels::cpu
