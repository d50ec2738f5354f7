// Numbers to byte rows and back. One thread per byte or number. Bytes: both sides once, some 100 KB per
// batch, so the launch dominates.

#include <adjoint/kernels/bits/bit_scale.h>
#include <adjoint/kernels/bits/byte_tensor.h>
#include <adjoint/kernels/cuda/launch.cuh>

namespace adj::kernels::cuda {

namespace {

constexpr int kThreads = 256;

/// One thread per byte of the result.
__global__ void __launch_bounds__(kThreads)
    pack(const float* x, ByteRows to, const float* scale, const float* zero, int largest, uint8_t* bytes) {
  begin_overlapping();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < to.used())
    bytes[to.place(i)] = to.joined(i, [&](int64_t row, int64_t column) {
      return quantized(x[row * to.width + column], *scale, *zero, largest);
    });
}
/// One thread per number.
__global__ void __launch_bounds__(kThreads)
    unpack(ByteRows x, const uint8_t* bytes, const float* scale, const float* zero, int64_t n, float* y) {
  begin_overlapping();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) y[i] = byte_value(x.at(bytes, i / x.width, i % x.width), *scale, *zero);
}

__global__ void __launch_bounds__(kThreads)
    repack(ByteRows x, const uint8_t* from, ByteRows to, uint8_t* bytes) {
  begin_overlapping();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < to.used())
    bytes[to.place(i)] = to.joined(i, [&](int64_t row, int64_t column) { return x.at(from, row, column); });
}

template <class Kernel, class... Arguments>
void run(const char* name, Device device, int64_t bytes, Kernel kernel, Arguments... arguments) {
  launch(name, overlapping(device.index, grid(ceil_div(bytes, int64_t{kThreads})), kThreads), kernel,
         arguments...);
}

}  // namespace

void pack_bytes(const PackBytesArgs& args) {
  ByteTensor& to = args.to;
  const ByteRows rows(to);
  run("pack_bytes", args.device(), rows.used(), pack, args.x.data<float>(), rows, to.scale.data<float>(),
      to.zero.data<float>(), to.largest(), to.bytes.mutable_data<uint8_t>());
}

void unpack_bytes(const UnpackBytesArgs& args) {
  const ByteTensor& x = args.x;
  run("unpack_bytes", args.device(), args.y.numel(), unpack, ByteRows(x), x.bytes.data<uint8_t>(),
      x.scale.data<float>(), x.zero.data<float>(), args.y.numel(), args.y.mutable_data<float>());
}

void repack_bytes(const RepackBytesArgs& args) {
  const ByteRows rows(args.to);
  run("repack_bytes", args.device(), rows.used(), repack, ByteRows(args.x), args.x.bytes.data<uint8_t>(),
      rows, args.to.bytes.mutable_data<uint8_t>());
}

}  // namespace adj::kernels::cuda
