// Products of bit tensors by AND and popcount, 4 rows by 4 columns at a time, with the counts in registers:
// by AVX-512 VPOPCNTDQ, if available, 512 bits per instruction, else 64. Both operands are first laid out row
// by row (BitTensor's chunks are swizzled by row). Byte operands use byte products in the same way.
//
// Bytes: planes of A once, of B once per 32 rows of A, from L2 or L3; Y. Floor: 3 instructions per 512 bit
// products.

#include <adjoint/core/isa.h>
#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/cpu/loops.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace adj::kernels::cpu {

namespace {

constexpr int kBlock = 4;
constexpr int64_t kVectorBytes = 64;

/// Counts of kBlock rows by kBlock columns of one plane each, [row][column].
using Counts = int32_t[kBlock][kBlock];
/// Contiguous rows of `pitch` bytes, a multiple of kVectorBytes.
using CountBlock = void (*)(const uint8_t* a, const uint8_t* b, int64_t pitch, Counts& counts);

void count_by_words(const uint8_t* a, const uint8_t* b, int64_t pitch, Counts& counts) {
  for (int i = 0; i < kBlock; ++i)
    for (int j = 0; j < kBlock; ++j) {
      int64_t count = 0;
      for (int64_t offset = 0; offset < pitch; offset += 8) {
        uint64_t x, y;
        std::memcpy(&x, a + i * pitch + offset, 8);
        std::memcpy(&y, b + j * pitch + offset, 8);
        count += std::popcount(x & y);
      }
      counts[i][j] = static_cast<int32_t>(count);
    }
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512vpopcntdq"))) void count_by_vectors(const uint8_t* a, const uint8_t* b,
                                                                         int64_t pitch, Counts& counts) {
  __m512i sum[kBlock][kBlock];
#pragma GCC unroll 4
  for (auto& row : sum)
#pragma GCC unroll 4
    for (__m512i& one : row) one = _mm512_setzero_si512();
  for (int64_t offset = 0; offset < pitch; offset += 64) {
    __m512i x[kBlock], y[kBlock];
#pragma GCC unroll 4
    for (int i = 0; i < kBlock; ++i) {
      x[i] = _mm512_loadu_si512(a + i * pitch + offset);
      y[i] = _mm512_loadu_si512(b + i * pitch + offset);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kBlock; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < kBlock; ++j)
        sum[i][j] = _mm512_add_epi64(sum[i][j], _mm512_popcnt_epi64(_mm512_and_si512(x[i], y[j])));
  }
  for (int i = 0; i < kBlock; ++i)
    for (int j = 0; j < kBlock; ++j) {
      int64_t lanes[8];
      _mm512_storeu_si512(lanes, sum[i][j]);
      counts[i][j] = static_cast<int32_t>(std::accumulate(lanes, lanes + 8, int64_t{0}));
    }
}
#endif

void multiply_bytes(const uint8_t* a, const uint8_t* b, int64_t pitch, Counts& sums) {
  for (int i = 0; i < kBlock; ++i)
    for (int j = 0; j < kBlock; ++j) {
      const uint8_t *x = a + i * pitch, *y = b + j * pitch;
      int32_t sum = 0;
      for (int64_t offset = 0; offset < pitch; ++offset) sum += int32_t{x[offset]} * int32_t{y[offset]};
      sums[i][j] = sum;
    }
}

CountBlock best_count() {
#if defined(__x86_64__)
  if (cpu_isa() == "avx512" && __builtin_cpu_supports("avx512vpopcntdq")) return count_by_vectors;
#endif
  return count_by_words;
}

/// Planes laid out row by row, [bits, rows, pitch], rows zero-padded to a multiple of kBlock.
struct Rows {
  int64_t rows, pitch, plane;
  std::vector<uint8_t> bytes;

  explicit Rows(const BitTensor& q)
      : rows(ceil_div(q.outer, kBlock) * kBlock),
        pitch(ceil_div(q.bytes ? q.inner : ceil_div(q.inner, 8), kVectorBytes) * kVectorBytes),
        plane(rows * pitch),
        bytes(static_cast<size_t>(q.num_planes() * plane)) {
    const auto* source = q.planes.data<uint8_t>();
    for_each_index(q.num_planes() * q.outer, 64, [&](int64_t i) {
      const int64_t p = i / q.outer, o = i % q.outer;
      uint8_t* destination = bytes.data() + p * plane + o * pitch;
      for (int64_t offset = 0; offset < pitch; offset += 16)
        std::memcpy(destination + offset,
                    source + p * q.plane_bytes() + bit_place(q.step_bytes(), o, offset * 8), 16);
    });
  }
  const uint8_t* at(int p, int64_t row) const { return bytes.data() + p * plane + row * pitch; }
};

/// Sums of products, some rows of A at a time.
class Product {
 public:
  Product(const BitTensor& a, const BitTensor& b)
      : a_(a), b_(b), left_(a), right_(b), count_(a.bytes ? multiply_bytes : best_count()) {}

  /// Calls f(row, its sums [N]) for every row, in parallel over rows.
  template <class F>
  void for_each_row(F&& f) const {
    constexpr int64_t kRows = 8 * kBlock;  // columns of B stay in L1 for these
    parallel_for(ceil_div(a_.outer, kRows), 1, [&](int64_t begin, int64_t end) {
      std::vector<int32_t> sums(static_cast<size_t>(kRows * b_.outer));
      for (int64_t first = begin * kRows; first < std::min(end * kRows, a_.outer); first += kRows) {
        const int64_t last = std::min(first + kRows, a_.outer);
        for (int64_t column = 0; column < b_.outer; column += kBlock)
          for (int64_t row = first; row < last; row += kBlock)
            multiply_block(row, column, sums.data() + (row - first) * b_.outer);
        for (int64_t row = first; row < last; ++row) f(row, sums.data() + (row - first) * b_.outer);
      }
    });
  }

 private:
  /// `output`: the sums of `row`.
  void multiply_block(int64_t row, int64_t column, int32_t* output) const {
    Counts sums = {};
    for (int i = 0; i < a_.num_planes(); ++i)
      for (int j = 0; j < b_.num_planes(); ++j) {
        Counts counts;
        count_(left_.at(i, row), right_.at(j, column), left_.pitch, counts);
        for (int r = 0; r < kBlock; ++r)
          for (int c = 0; c < kBlock; ++c) sums[r][c] += counts[r][c] << (i + j);
      }
    const int64_t columns = std::min<int64_t>(kBlock, b_.outer - column);
    for (int64_t r = 0; r < kBlock; ++r) std::copy_n(sums[r], columns, output + r * b_.outer + column);
  }

  const BitTensor &a_, &b_;
  const Rows left_, right_;
  const CountBlock count_;
};

}  // namespace

void bit_gemm(const BitGemmArgs& args) {
  const BitTensor &a = args.a, &b = args.b;
  const Product product(a, b);
  const int64_t n = b.outer;
  if (args.y.dtype() == DType::i32) {
    auto* y = args.y.mutable_data<int32_t>();
    return product.for_each_row([&](int64_t row, const int32_t* sums) { std::copy_n(sums, n, y + row * n); });
  }
  const BitOperand left(a), right(b);
  const auto* bias = BitResult::numbers_of(args.bias);
  std::vector<BitTermWithBias> columns;
  for (int64_t c = 0; c < n; ++c) columns.push_back(right.term(c, bias));
  auto* y = args.y.mutable_data<float>();
  product.for_each_row([&](int64_t row, const int32_t* sums) {
    const BitTerm of_row = left.term(row);
    for (int64_t c = 0; c < n; ++c) {
      const BitTermWithBias& column = columns[static_cast<size_t>(c)];
      y[row * n + c] = bit_value(sums[c], of_row, column, static_cast<double>(a.inner)) + column.bias;
    }
  });
}

namespace {

/// Calls f(row, column, q) for every element of a requantized product.
template <class F>
void for_each_requantized(const BitTensor& a, const BitTensor& b, const BitResult& result, F&& f) {
  const BitOperand left(a), right(b);
  std::vector<BitColumn> columns;
  for (int64_t c = 0; c < b.outer; ++c) columns.push_back(result.column(right, c));
  Product(a, b).for_each_row([&](int64_t row, const int32_t* sums) {
    const BitRow of_row = result.row(left, row, static_cast<float>(a.inner));
    for (int64_t c = 0; c < b.outer; ++c)
      f(row, c, requantized(sums[c], of_row, columns[static_cast<size_t>(c)], result.largest));
  });
}

}  // namespace

void bit_gemm_to_bits(const BitGemmToBitsArgs& args) {
  args.output.planes.zero_();
  args.output.sums.zero_();
  const BitResult result(args);
  for_each_requantized(args.a, args.b, result, [&](int64_t row, int64_t c, int q) {
    result.sums[row] += q;
    if (result.bytes != nullptr) {
      *result.byte_at(row, c) = static_cast<uint8_t>(q);
      return;
    }
    uint8_t* const destination = result.planes + bit_place(result.step_bytes, row, c);
    for (int p = 0; p < result.bits; ++p)
      destination[p * result.plane_bytes] =
          static_cast<uint8_t>(destination[p * result.plane_bytes] | (q >> p & 1) << (c % 8));
  });
}

void bit_gemm_to_bytes(const BitGemmToBytesArgs& args) {
  const BitResult result(args);
  for_each_requantized(args.a, args.b, result, [&](int64_t row, int64_t c, int q) {
    uint8_t& byte = *result.byte_at(row, c);
    byte = static_cast<uint8_t>(result.halves() && c % 2 != 0 ? byte | q << 4 : q);
  });
}

}  // namespace adj::kernels::cpu
