// A thread writes a byte. Bytes: both sides once, some 100 KB a batch, for which a launch is the floor.

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

__global__ void __launch_bounds__(kThreads) widen_all(NarrowPlaces places, const uint8_t* from, uint8_t* to) {
  adj::cuda::begin_overlapping();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < places.rows.used()) to[places.rows.place(i)] = places.widened(from, i);
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
  const NarrowPlaces places(args.to);
  run("widen_bytes", args.device(), places.rows.used(), widen_all, places, args.from.data<uint8_t>(),
      args.to.bytes.mutable_data<uint8_t>());
}

}  // namespace adj::kernels::cuda
