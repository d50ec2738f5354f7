#include "../reference/plain.h"
#include <adjoint/autograd/grouped_linear.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("grouped_linear's gradients equal differences, of rows in order and of picked ones") {
  on_devices(310, DType::f64, [&](Draw& draw, Device device) {
    const Tensor offsets = Tensor::from<int64_t>({0, 3, 3, 7}, device);
    const Tensor first = Tensor::from<int64_t>({0, 1, 2, 3, 4, 5, 6, 7}, device);
    const Relation picks =
        Relation::from_csr({7, 5, first, Tensor::from<int32_t>({4, 0, 4, 1, 1, 3, 4}, device)});
    for (const bool picked : {false, true})
      for (const int64_t blocks : {1, 2}) {
        const RowGroups groups{offsets, picked ? picks : Relation()};
        check_each([&](const std::vector<Var>& v) { return grouped_linear(v[0], v[1], groups, v[2]); },
                   {draw.normal({picked ? 5 : 7, 3 * blocks}), draw.normal({3 * blocks, 3, 2}),
                    draw.normal({3, 2 * blocks})});
      }
  });
}

TEST_CASE("grouped_linear names what does not fit") {
  const Var x(Tensor::zeros({4, 3})), w(Tensor::zeros({2, 3, 5}));
  const auto refused = [&](const Var& rows, const RowGroups& groups, const char* part) {
    CHECK_ERROR_HAS(grouped_linear(rows, w, groups), part);
  };
  refused(x, {Tensor::from<int64_t>({0, 2, 5})}, "grouped_linear: offsets end at 5, expected 4 rows");
  refused(x, {Tensor::from<int64_t>({0, 3, 2})}, "end at 2");
  refused(Var(Tensor::zeros({4, 2})), {Tensor::from<int64_t>({0, 2, 4})}, "[4, 2]");
  const Relation picks =
      Relation::from_csr({2, 3, Tensor::from<int64_t>({0, 1, 2}), Tensor::from<int32_t>({0, 1})});
  refused(x, {Tensor::from<int64_t>({0, 1, 2}), picks}, "picked by 2 edges from 3 to 2");
}

TEST_CASE("bmm multiplies each pair of matrices") {
  on_devices(311, DType::f64, [&](Draw& draw, Device) {
    for (const auto& [count, rows, in, out] : {std::tuple<int64_t, int64_t, int64_t, int64_t>{3, 4, 2, 5},
                                               {1, 1, 7, 1},
                                               {0, 2, 2, 2},
                                               {2, 0, 3, 2}}) {
      const Tensor a = draw.normal({count, rows, in}), b = draw.normal({count, in, out});
      const Var y = bmm(a, b);
      REQUIRE(y.shape() == Shape{count, rows, out});
      for (int64_t k = 0; k < count && rows > 0; ++k) {
        const Dense expected =
            Dense(a.rows(k, k + 1).reshape({rows, in})) * Dense(b.rows(k, k + 1).reshape({in, out}));
        CHECK(close(y.value().rows(k, k + 1), expected.data, 1e-12));
      }
    }
    check_each([](const std::vector<Var>& v) { return bmm(v[0], v[1]); },
               {draw.normal({2, 3, 4}), draw.normal({2, 4, 2})});
  });
  CHECK_ERROR_HAS(bmm(Var(Tensor::zeros({2, 3, 4})), Var(Tensor::zeros({2, 3, 4}))),
                  "bmm: matrices [2, 3, 4] and [2, 3, 4], expected [K, N, in] and [K, in, out]");
}
