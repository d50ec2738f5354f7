// Numbers to byte rows and back. One thread per byte or number. Bytes: both sides once, some 100 KB per
// batch, so the launch dominates.

#include <adjoint/kernels/bits/byte_tensor.h>
#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/types/bit_scale.h>

namespace adj::kernels::cuda {

void pack_bytes(const PackBytesArgs& args) {
  ByteTensor& output = args.output;
  const ByteRows rows(output);
  const float *x = args.x.data<float>(), *scale = output.scale.data<float>(),
              *zero = output.zero.data<float>();
  const int largest = output.largest();
  uint8_t* bytes = output.bytes.mutable_data<uint8_t>();
  for_each("pack_bytes", args.device().index, rows.used(), [=] __device__(int64_t i) {
    bytes[rows.place(i)] = rows.joined(i, [&](int64_t row, int64_t column) {
      return quantized(x[row * rows.width + column], *scale, *zero, largest);
    });
  });
}

void unpack_bytes(const UnpackBytesArgs& args) {
  const ByteRows x(args.x);
  const uint8_t* bytes = args.x.bytes.data<uint8_t>();
  const float *scale = args.x.scale.data<float>(), *zero = args.x.zero.data<float>();
  float* y = args.y.mutable_data<float>();
  for_each("unpack_bytes", args.device().index, args.y.numel(), [=] __device__(int64_t i) {
    y[i] = byte_value(x.at(bytes, i / x.width, i % x.width), *scale, *zero);
  });
}

void repack_bytes(const RepackBytesArgs& args) {
  const ByteRows x(args.x), output(args.output);
  const uint8_t* input = args.x.bytes.data<uint8_t>();
  uint8_t* bytes = args.output.bytes.mutable_data<uint8_t>();
  for_each("repack_bytes", args.device().index, output.used(), [=] __device__(int64_t i) {
    bytes[output.place(i)] =
        output.joined(i, [&](int64_t row, int64_t column) { return x.at(input, row, column); });
  });
}

}  // namespace adj::kernels::cuda
