// A thread has a byte that numbers share: 1 to 8 bytes on the other side. Bytes: both sides once, some 100 KB
// a batch, for which a launch is the floor.

#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/bits/narrow_bytes.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    narrow_all(NarrowPlaces places, const uint8_t* x, uint8_t* to, int64_t bytes) {
  adj::cuda::begin_overlapping();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < bytes) to[i] = places.narrowed(x, i);
}

__global__ void __launch_bounds__(kThreads)
    widen_all(NarrowPlaces places, const uint8_t* from, int64_t bytes, uint8_t* to) {
  adj::cuda::begin_overlapping();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < bytes) places.widen(from[i], i, to);
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
  run("narrow_bytes", args.device(), args.to.numel(), narrow_all, NarrowPlaces(args.x),
      args.x.bytes.data<uint8_t>(), args.to.mutable_data<uint8_t>(), args.to.numel());
}

void widen_bytes(const WidenBytesArgs& args) {
  run("widen_bytes", args.device(), args.from.numel(), widen_all, NarrowPlaces(args.to),
      args.from.data<uint8_t>(), args.from.numel(), args.to.bytes.mutable_data<uint8_t>());
}

}  // namespace adj::kernels::cuda
