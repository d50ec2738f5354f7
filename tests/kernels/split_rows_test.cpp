#include "../structures.h"
#include "cases.h"
#include <adjoint/kernels/sparse/split_rows.h>

using namespace adj;
using namespace adj::test;

namespace {

/// The result as rows of columns.
struct Split {
  Tensor offsets, indices;

  Split(const Edges& m, const Tensor& type, int64_t types, bool loops)
      : offsets(Tensor::full({m.rows() * (types + (loops ? 1 : 0)) + 1}, -1.0, DType::i64, type.device())),
        indices(Tensor::full({m.count() + (loops ? m.rows() : 0)}, -1.0, DType::i32, type.device())) {
    kernels::split_rows({.a = m.csr,
                         .type = type,
                         .order = m.order,
                         .types = types,
                         .loops = loops,
                         .offsets = offsets,
                         .indices = indices});
  }
  std::vector<std::vector<int32_t>> rows() const {
    const auto begins = offsets.to_vector<int64_t>();
    const auto columns = indices.to_vector<int32_t>();
    REQUIRE(begins.front() == 0);
    REQUIRE(begins.back() == std::ssize(columns));
    std::vector<std::vector<int32_t>> result;
    for (size_t i = 0; i + 1 < begins.size(); ++i)
      result.emplace_back(columns.begin() + begins[i], columns.begin() + begins[i + 1]);
    return result;
  }
};

}  // namespace

TEST_CASE("split_rows makes a row of each type, in the order of its entries") {
  for (const Device device : devices())
    for (const auto& lengths : {std::vector<int64_t>{}, {0, 0, 0}, {3, 0, 1, 17, 0, 32, 33, 1000, 64, 2}})
      for (const bool ordered : {false, true})
        for (const auto& [types, loops] :
             {std::pair<int64_t, bool>{1, false}, {1, true}, {7, true}, {64, false}, {63, true}}) {
          CAPTURES(lengths.size(), ordered, types, loops);
          const Edges m(random_structure(lengths, 1200, device), ordered);
          const Tensor type = random_ints(m.count(), 0, static_cast<int32_t>(types), device);
          const std::vector<int32_t> of_edge = type.to_vector<int32_t>();
          const size_t width = uz(types) + (loops ? 1 : 0);
          std::vector<std::vector<int32_t>> expected(lengths.size() * width);
          m.each([&](size_t i, size_t j, size_t edge) {
            expected[i * width + uz(of_edge[edge])].push_back(static_cast<int32_t>(j));
          });
          for (size_t i = 0; loops && i < lengths.size(); ++i)
            expected[(i + 1) * width - 1].push_back(static_cast<int32_t>(i));
          CHECK(Split(m, type, types, loops).rows() == expected);
        }
}

TEST_CASE("split_rows refuses types out of range, and too many") {
  for (const Device device : devices()) {
    const Edges m(random_structure({2, 1}, 5, device), false);
    const Tensor wrong = Tensor::from<int32_t>({0, 4, 1}, device);
    CHECK_ERROR_HAS(Split(m, wrong, 4, true).rows(), "type[1] is 4, expected [0, 4)");
    CHECK_ERROR(Split(m, wrong, 64, true), "split_rows: 64 types, expected 1 to 63 beside loops");
    CHECK_ERROR(Split(m, wrong, 65, false), "split_rows: 65 types, expected 1 to 64");
  }
}
