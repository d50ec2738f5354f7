#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/index/slice.h>

#include <cstring>

namespace adj::kernels::cpu {

namespace {

size_t row_bytes(const Tensor& x) { return static_cast<size_t>(x.size(1)) * size_of(x.dtype()); }

}  // namespace

void slice_columns(const SliceColumnsArgs& args) {
  const size_t from_stride = row_bytes(args.x), bytes = row_bytes(args.y);
  const char* from =
      static_cast<const char*>(args.x.raw_data()) + static_cast<size_t>(args.begin) * size_of(args.x.dtype());
  char* to = static_cast<char*>(args.y.raw_mutable_data());
  parallel_for(args.y.size(0), row_grain(args.y.size(1)), [=](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      std::memcpy(to + i * bytes, from + i * from_stride, bytes);
  });
}

void pad_columns(const PadColumnsArgs& args) {
  const size_t bytes = row_bytes(args.x), to_stride = row_bytes(args.y);
  const size_t before = static_cast<size_t>(args.begin) * size_of(args.x.dtype());
  const char* from = static_cast<const char*>(args.x.raw_data());
  char* to = static_cast<char*>(args.y.raw_mutable_data());
  parallel_for(args.y.size(0), row_grain(args.y.size(1)), [=](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      char* row = to + i * to_stride;
      std::memset(row, 0, before);
      std::memcpy(row + before, from + i * bytes, bytes);
      std::memset(row + before + bytes, 0, to_stride - before - bytes);
    }
  });
}

}  // namespace adj::kernels::cpu
