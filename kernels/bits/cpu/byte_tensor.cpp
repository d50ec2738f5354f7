#include <adjoint/kernels/bits/byte_tensor.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/types/bit_scale.h>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kChunk = 1 << 14;  // bytes, or numbers

}  // namespace

void pack_bytes(const PackBytesArgs& args) {
  const auto* x = args.x.data<float>();
  auto* output = args.output.bytes.mutable_data<uint8_t>();
  const float scale = args.output.scale.data<float>()[0], zero = args.output.zero.data<float>()[0];
  const int largest = args.output.largest();
  const ByteRows rows(args.output);
  parallel_for(rows.used(), kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      output[rows.place(i)] = rows.joined(i, [&](int64_t row, int64_t column) {
        return quantized(x[row * rows.width + column], scale, zero, largest);
      });
  });
}

void unpack_bytes(const UnpackBytesArgs& args) {
  const auto* bytes = args.x.bytes.data<uint8_t>();
  auto* y = args.y.mutable_data<float>();
  const float scale = args.x.scale.data<float>()[0], zero = args.x.zero.data<float>()[0];
  const ByteRows rows(args.x);
  for_each_index(args.y.numel(), kChunk, [&](int64_t i) {
    y[i] = byte_value(rows.at(bytes, i / rows.width, i % rows.width), scale, zero);
  });
}

void repack_bytes(const RepackBytesArgs& args) {
  const auto* x = args.x.bytes.data<uint8_t>();
  auto* output = args.output.bytes.mutable_data<uint8_t>();
  const ByteRows input(args.x), rows(args.output);
  parallel_for(rows.used(), kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      output[rows.place(i)] =
          rows.joined(i, [&](int64_t row, int64_t column) { return input.at(x, row, column); });
  });
}

}  // namespace adj::kernels::cpu
