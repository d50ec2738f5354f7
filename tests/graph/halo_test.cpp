#include "../structures.h"
#include <adjoint/graph/ranks/halo.h>
#include <adjoint/kernels/aggregate/spmm.h>

#include <atomic>
#include <set>

using namespace adj;
using namespace adj::test;

namespace {

/// Square: rows of very different lengths, empty ones, loops and repeated entries.
HostCsr skewed_structure(int64_t n) {
  std::mt19937 random(static_cast<uint32_t>(n));
  return structure_of(n, n, [&](size_t i) {
    const size_t length = i % 7 == 3 ? 0 : i == static_cast<size_t>(n) / 2 ? uz(3 * n) : random() % 9;
    std::vector<int32_t> columns;
    for (size_t k = 0; k < length; ++k)
      columns.push_back(static_cast<int32_t>(random() % 3 == 0 ? i : random() % static_cast<uint32_t>(n)));
    return columns;
  });
}

/// Rows [begin, end) over all columns.
Csr rows_between(const HostCsr& whole, int64_t begin, int64_t end, Device device) {
  std::vector<int64_t> offsets;
  for (int64_t i = begin; i <= end; ++i) offsets.push_back(whole.offsets[uz(i)] - whole.offsets[uz(begin)]);
  const std::vector<int32_t> indices(whole.indices.begin() + whole.offsets[uz(begin)],
                                     whole.indices.begin() + whole.offsets[uz(end)]);
  return {end - begin, whole.csr.cols, Tensor::from(offsets, device), Tensor::from(indices, device)};
}

Tensor product(const Csr& csr, const Tensor& x) {
  Tensor y = Tensor::empty({csr.rows, x.size(1)}, x.dtype(), x.device());
  kernels::spmm({.a = {csr, {}, {}}, .x = x, .y = y});
  return y;
}

}  // namespace

TEST_CASE("rows are cut into consecutive parts of about as many entries, whose ranks' rows are all rows") {
  for (const int64_t n : {0, 1, 40, 3000}) {
    const HostCsr host = skewed_structure(n);
    const RowCut cut(host.csr.offsets);
    CHECK(cut.parts() == 64);
    CHECK(cut.rows() == n);
    double longest = 0;
    for (int64_t i = 0; i < n; ++i) longest = std::max(longest, host.length(uz(i)));
    for (size_t k = 0; k < 64; ++k) {
      const auto begin = uz(cut.begins()[k]), end = uz(cut.begins()[k + 1]);
      REQUIRE(begin <= end);
      // Each border is half a row at most from where it should be.
      CHECK(static_cast<double>(host.offsets[end] - host.offsets[begin]) <=
            static_cast<double>(host.offsets.back()) / 64 + longest + 1);
    }
    for (const int64_t ranks : {1, 2, 3, 5, 64}) {
      int64_t next = 0;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const auto [begin, end] = cut.rows_of(rank, ranks);
        CHECK(begin == next);
        next = end;
      }
      CHECK(next == n);
    }
  }
  const Tensor even = Tensor::from(std::vector<int64_t>{0, 10, 20, 30, 40, 50, 60, 70, 80});
  CHECK(RowCut(even, 4).begins() == std::vector<int64_t>{0, 2, 4, 6, 8});
  CHECK(RowCut(even, 3).begins() == std::vector<int64_t>{0, 3, 5, 8});
  CHECK(RowCut(Tensor::from(std::vector<int64_t>{0, 90, 95, 100}), 2).begins() ==
        std::vector<int64_t>{0, 1, 3});
  CHECK(RowCut({0, 2, 2, 5}).rows_of(1, 3) == std::pair<int64_t, int64_t>{2, 2});
  CHECK_ERROR_HAS(RowCut({0, 2, 1}), "that ascend from 0");
  CHECK_ERROR_HAS(RowCut(even, 0), "0 parts, expected 1 or more");
  CHECK_ERROR_HAS((void)RowCut(even, 4).rows_of(0, 5), "rank 0 of 5, expected at most 4 ranks");
}

TEST_CASE("products of cut rows have the bits of one rank, for any number of ranks and either direction") {
  for (const int64_t n : {1, 40, 500}) {
    const HostCsr whole = skewed_structure(n);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64})
      for (const Device device : devices()) {
        const Tensor x = random_tensor({n, 12}, dtype, device);
        const Tensor wanted = product(whole.csr.to(device), x);
        const Numbers rows = values(x);
        const RowCut cut(whole.csr.offsets);
        for (const int64_t ranks : {1, 2, 3, 8, 64}) {
          CAPTURES(n, name_of(dtype), ranks);
          std::atomic<int64_t> right = 0, sent = 0, received = 0;
          run_ranks(ranks, [&](const Group& group) {
            const auto [begin, end] = cut.rows_of(group.rank(), ranks);
            const Csr part = rows_between(whole, begin, end, device);
            const Halo halo(group, cut, part);
            const Tensor all = halo.gather(x.rows(begin, end).clone());
            std::set<size_t> names;
            for (int64_t i = ranks == 1 ? 0 : begin; i < (ranks == 1 ? n : end); ++i) names.insert(uz(i));
            whole.each([&](size_t i, size_t j, size_t) {
              if (static_cast<int64_t>(i) >= begin && static_cast<int64_t>(i) < end) names.insert(j);
            });
            Numbers named;
            for (const size_t j : names) named.insert(named.end(), &rows[j * 12], &rows[j * 12] + 12);
            const Tensor y = group.gather(product(halo.structure(), all));
            right += values(all) == named && same_bits(y, wanted);
            sent += halo.sent_rows();
            received += halo.received_rows();
          });
          CHECK(right == ranks);
          CHECK(sent == received);
          CHECK((ranks > 1 && n > 1) == (sent > 0));
        }
      }
  }
}

TEST_CASE("a halo's sizes are checked on all ranks") {
  const HostCsr whole = skewed_structure(40);
  const RowCut cut(whole.csr.offsets);
  CHECK_ERROR_HAS(Halo(Group(), cut, rows_between(whole, 0, 39, {})),
                  "Halo: 39 rows of 40 columns, expected 40");
  CHECK_ERROR_HAS(run_ranks(2,
                            [&](const Group& group) {
                              const auto [begin, end] = cut.rows_of(group.rank(), 2);
                              const Halo halo(group, cut, rows_between(whole, begin, end, {}));
                              (void)halo.gather(Tensor::zeros({end - begin + 1, 3}));
                            }),
                  "Halo: x is [");
}
