#include <adjoint/kernels/cpu/index.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/index/gather.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace adj::kernels::cpu {

namespace {

/// y[k] = the row at address(index[k]), for indices in range.
template <class Address>
void copy_rows(const Tensor& indices, Tensor& y, const Address& address) {
  constexpr int64_t kAhead = 8;         // rows
  constexpr size_t kPrefetched = 1024;  // prefetched bytes per row
  const size_t bytes = bytes_of({y.size(1)}, y.dtype());
  char* out = static_cast<char*>(y.raw_mutable_data());
  const int32_t* index = indices.data<int32_t>();
  parallel_for(indices.numel(), row_grain(y.size(1)), [=, &address](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      // Rows are far apart; the hardware prefetches the rest of a long one.
      const char* soon = address(index[std::min(k + kAhead, end - 1)]);
      for (size_t b = 0; b < std::min(bytes, kPrefetched); b += 64) __builtin_prefetch(soon + b);
      std::memcpy(out + static_cast<size_t>(k) * bytes, address(index[k]), bytes);
    }
  });
}

}  // namespace

void gather_rows(const GatherRowsArgs& args) {
  require_in_range("gather_rows", "index", args.index, args.x.size(0));
  const size_t bytes = bytes_of({args.x.size(1)}, args.x.dtype());
  const char* in = static_cast<const char*>(args.x.raw_data());
  copy_rows(args.index, args.y, [=](int32_t row) { return in + static_cast<size_t>(row) * bytes; });
}

void gather_parts(const GatherPartsArgs& args) {
  const size_t bytes = bytes_of({args.y.size(1)}, args.y.dtype());
  std::vector<const char*> first;
  std::vector<int64_t> begins;  // row of a part
  int64_t rows = 0;
  for (const Tensor& part : args.parts) {
    first.push_back(static_cast<const char*>(part.raw_data()));
    begins.push_back(rows);
    rows += part.size(0);
  }
  require_in_range("gather_parts", "index", args.index, rows);
  copy_rows(args.index, args.y, [&](int32_t row) {
    const auto p = static_cast<size_t>(std::ranges::upper_bound(begins, row) - begins.begin()) - 1;
    return first[p] + static_cast<size_t>(row - begins[p]) * bytes;
  });
}

namespace {

/// Copies a block of `rows` rows of `bytes` each between matrices of different widths.
void copy_block(char* destination, size_t destination_stride, const char* source, size_t source_stride,
                size_t bytes, int64_t rows) {
  parallel_for(rows, row_grain(static_cast<int64_t>(bytes), 4 * kGrain), [=](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      std::memcpy(destination + i * destination_stride, source + i * source_stride, bytes);
  });
}

size_t row_bytes(const Tensor& x) { return static_cast<size_t>(x.size(1)) * size_of(x.dtype()); }

}  // namespace

void concat_columns(const ConcatColumnsArgs& args) {
  char* whole = static_cast<char*>(args.y.raw_mutable_data());
  for (const Tensor& part : args.parts) {
    const size_t bytes = row_bytes(part);
    copy_block(whole, row_bytes(args.y), static_cast<const char*>(part.raw_data()), bytes, bytes,
               args.y.size(0));
    whole += bytes;
  }
}

void split_columns(const SplitColumnsArgs& args) {
  const char* whole = static_cast<const char*>(args.y.raw_data());
  for (Tensor& part : args.parts) {
    const size_t bytes = row_bytes(part);
    copy_block(static_cast<char*>(part.raw_mutable_data()), bytes, whole, row_bytes(args.y), bytes,
               args.y.size(0));
    whole += bytes;
  }
}

void slice_columns(const SliceColumnsArgs& args) {
  const size_t source_stride = row_bytes(args.x), bytes = row_bytes(args.y);
  const char* source =
      static_cast<const char*>(args.x.raw_data()) + static_cast<size_t>(args.begin) * size_of(args.x.dtype());
  copy_block(static_cast<char*>(args.y.raw_mutable_data()), bytes, source, source_stride, bytes,
             args.y.size(0));
}

void pad_columns(const PadColumnsArgs& args) {
  const size_t bytes = row_bytes(args.x), destination_stride = row_bytes(args.y);
  const size_t before = static_cast<size_t>(args.begin) * size_of(args.x.dtype());
  const char* source = static_cast<const char*>(args.x.raw_data());
  char* destination = static_cast<char*>(args.y.raw_mutable_data());
  parallel_for(args.y.size(0), row_grain(args.y.size(1)), [=](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      char* row = destination + i * destination_stride;
      std::memset(row, 0, before);
      std::memcpy(row + before, source + i * bytes, bytes);
      std::memset(row + before + bytes, 0, destination_stride - before - bytes);
    }
  });
}

void gather_cached(const GatherCachedArgs& args) {
  const int32_t* index = args.at.data<int32_t>();
  const int64_t hot_rows = args.hot.size(0), cold_rows = args.cold.rows;
  for (int64_t k = 0; k < args.at.numel(); ++k)
    ADJ_CHECK(index[k] < hot_rows && -1 - int64_t{index[k]} < cold_rows,
              "gather_cached: at[{}] is {}, expected [{}, {})", k, index[k], -cold_rows, hot_rows);
  const size_t bytes = bytes_of({args.hot.size(1)}, args.hot.dtype());
  const auto* hot = static_cast<const char*>(args.hot.raw_data());
  const auto* cold = static_cast<const char*>(args.cold.data);
  auto* out = static_cast<char*>(args.y.raw_mutable_data());
  if (bytes == 0) return;
  for_each_index(args.at.numel(), row_grain(args.hot.size(1)), [=](int64_t k) {
    const int64_t row = index[k];
    const char* source =
        row >= 0 ? hot + static_cast<size_t>(row) * bytes : cold + static_cast<size_t>(-1 - row) * bytes;
    std::memcpy(out + static_cast<size_t>(k) * bytes, source, bytes);
  });
}

}  // namespace adj::kernels::cpu
