// A thread has a byte that numbers share: 1 to 8 bytes on the other side. Bytes: both sides once, some 100 KB
// a batch, for which a launch is the floor.

#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/bits/narrow_bytes.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    narrow_all(const uint8_t* x, int64_t n, int width, uint8_t* to, int64_t bytes) {
  adj::cuda::begin_overlapping();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < bytes) to[i] = narrowed(x, i * (8 / width), n, width);
}

__global__ void __launch_bounds__(kThreads)
    widen_all(const uint8_t* from, int64_t bytes, int width, uint8_t* to, int64_t n) {
  adj::cuda::begin_overlapping();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < bytes) widen(from[i], to, i * (8 / width), n, width);
}

template <class Kernel, class... Arguments>
void run(const char* name, Device device, int64_t bytes, Kernel kernel, Arguments... arguments) {
  adj::cuda::launch(name,
                    {.device = device.index,
                     .blocks = static_cast<unsigned>(ceil_div(bytes, int64_t{kThreads})),
                     .threads = kThreads,
                     .overlaps = true},
                    kernel, arguments...);
}

}  // namespace

void narrow_bytes(const NarrowBytesArgs& args) {
  run("narrow_bytes", args.device(), args.to.numel(), narrow_all, args.x.bytes.data<uint8_t>(),
      args.x.bytes.numel(), narrow_width(args.x.bits), args.to.mutable_data<uint8_t>(), args.to.numel());
}

void widen_bytes(const WidenBytesArgs& args) {
  run("widen_bytes", args.device(), args.from.numel(), widen_all, args.from.data<uint8_t>(),
      args.from.numel(), narrow_width(args.to.bits), args.to.bytes.mutable_data<uint8_t>(),
      args.to.bytes.numel());
}

}  // namespace adj::kernels::cuda
