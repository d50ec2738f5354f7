#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/narrow_bytes.h>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kChunk = 1 << 14;  // bytes

}  // namespace

void narrow_bytes(const NarrowBytesArgs& args) {
  const auto* x = args.x.bytes.data<uint8_t>();
  auto* to = args.to.mutable_data<uint8_t>();
  const int64_t n = args.x.bytes.numel();
  const int width = narrow_width(args.x.bits);
  parallel_for(args.to.numel(), kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = narrowed(x, i * (8 / width), n, width);
  });
}

void widen_bytes(const WidenBytesArgs& args) {
  const auto* from = args.from.data<uint8_t>();
  auto* to = args.to.bytes.mutable_data<uint8_t>();
  const int64_t n = args.to.bytes.numel();
  const int width = narrow_width(args.to.bits);
  parallel_for(args.from.numel(), kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) widen(from[i], to, i * (8 / width), n, width);
  });
}

}  // namespace adj::kernels::cpu
