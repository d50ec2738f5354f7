// Products of bit tensors by AND and population counts, 4 rows by 4 columns at a time, whose counts stay in
// registers: with AVX-512 VPOPCNTDQ, where the machine has it, 512 bits an instruction, else 64. Both
// operands are first laid out row by row (BitTensor's chunks change places with the row).
//
// Bytes: planes of A once, of B once for each 32 rows of A, from L2 or L3; Y. Floor: 3 instructions for 512
// products of bits.

#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/bit_gemm.h>

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

/// Counts of kBlock rows by kBlock columns of one plane each, [row][column].
using Counts = int32_t[kBlock][kBlock];
/// Rows `pitch` bytes apart, of `bytes`, a multiple of 128.
using CountBlock = void (*)(const uint8_t* a, const uint8_t* b, int64_t pitch, Counts& counts);

void count_by_words(const uint8_t* a, const uint8_t* b, int64_t pitch, Counts& counts) {
  for (int i = 0; i < kBlock; ++i)
    for (int j = 0; j < kBlock; ++j) {
      int64_t count = 0;
      for (int64_t at = 0; at < pitch; at += 8) {
        uint64_t x, y;
        std::memcpy(&x, a + i * pitch + at, 8);
        std::memcpy(&y, b + j * pitch + at, 8);
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
  for (int64_t at = 0; at < pitch; at += 64) {
    __m512i x[kBlock], y[kBlock];
#pragma GCC unroll 4
    for (int i = 0; i < kBlock; ++i) {
      x[i] = _mm512_loadu_si512(a + i * pitch + at);
      y[i] = _mm512_loadu_si512(b + i * pitch + at);
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

CountBlock best_count() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vpopcntdq")) return count_by_vectors;
#endif
  return count_by_words;
}

/// Planes laid out row by row, [bits, rows, pitch], rows padded with zeros to a multiple of kBlock.
struct Rows {
  int64_t rows, pitch, plane;
  std::vector<uint8_t> bytes;

  explicit Rows(const BitTensor& q)
      : rows((q.outer + kBlock - 1) / kBlock * kBlock),
        pitch(q.steps() * BitTensor::kRowBytes),
        plane(rows * pitch),
        bytes(static_cast<size_t>(q.bits * plane)) {
    const auto* from = q.planes.data<uint8_t>();
    parallel_for(q.bits * q.outer, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t p = i / q.outer, o = i % q.outer;
        uint8_t* to = bytes.data() + p * plane + o * pitch;
        for (int64_t at = 0; at < pitch; at += 16)
          std::memcpy(to + at, from + p * q.plane_bytes() + bit_place(q.step_bytes(), o, at * 8), 16);
      }
    });
  }
  const uint8_t* at(int p, int64_t row) const { return bytes.data() + p * plane + row * pitch; }
};

std::vector<BitTerm> terms_of(const BitTensor& q) {
  std::vector<BitTerm> terms(static_cast<size_t>(q.outer));
  const auto of_row = [](const Tensor& numbers, size_t row) {
    return static_cast<double>(numbers.data<float>()[numbers.numel() == 1 ? 0 : row]);
  };
  for (size_t row = 0; row < terms.size(); ++row)
    terms[row] = {of_row(q.scale, row), of_row(q.zero, row),
                  static_cast<double>(q.sums.data<int32_t>()[row])};
  return terms;
}

}  // namespace

void bit_gemm(const BitGemmArgs& args) {
  const BitTensor &a = args.a, &b = args.b;
  const Rows left(a), right(b);
  const CountBlock count = best_count();
  const std::vector<BitTerm> left_terms = terms_of(a), right_terms = terms_of(b);
  const bool exact = args.y.dtype() == DType::i32;
  auto* integers = exact ? args.y.mutable_data<int32_t>() : nullptr;
  auto* floats = exact ? nullptr : args.y.mutable_data<float>();
  const auto multiply_block = [&](int64_t row, int64_t column) {
    Counts sums = {};
    for (int i = 0; i < a.bits; ++i)
      for (int j = 0; j < b.bits; ++j) {
        Counts counts;
        count(left.at(i, row), right.at(j, column), left.pitch, counts);
        for (int r = 0; r < kBlock; ++r)
          for (int c = 0; c < kBlock; ++c) sums[r][c] += counts[r][c] << (i + j);
      }
    for (int64_t r = row; r < std::min(row + kBlock, a.outer); ++r)
      for (int64_t c = column; c < std::min(column + kBlock, b.outer); ++c) {
        const int32_t sum = sums[r - row][c - column];
        if (exact)
          integers[r * b.outer + c] = sum;
        else
          floats[r * b.outer + c] =
              bit_value(sum, left_terms[static_cast<size_t>(r)], right_terms[static_cast<size_t>(c)],
                        static_cast<double>(a.inner));
      }
  };
  constexpr int64_t kRows = 8 * kBlock;  // of A, that columns of B are in the L1 cache for
  parallel_for(ceil_div(left.rows, kRows), 1, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin * kRows; first < std::min(end * kRows, left.rows); first += kRows)
      for (int64_t column = 0; column < b.outer; column += kBlock)
        for (int64_t row = first; row < std::min(first + kRows, left.rows); row += kBlock)
          multiply_block(row, column);
  });
}

}  // namespace adj::kernels::cpu
