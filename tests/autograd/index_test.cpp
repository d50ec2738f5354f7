#include "../reference/plain.h"
#include <adjoint/autograd/index.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("gradients of index_select") {
  on_devices(41, DType::f64, [&](Draw& draw, Device device) {
    const Tensor x = draw.normal({6, 3});
    const auto taking = [](const Tensor& index) {
      return [index](const std::vector<Var>& v) { return index_select(v[0], index); };
    };
    check(taking(draw.ints(17, 0, 6)), {x});
    check(taking(draw.distinct(4, 6)), {x});
    check(taking(Tensor::full({5}, 2.0, DType::i32, device)), {x});
    check(taking(draw.ints(9, 0, 6)), {draw.normal({6})});
    check(taking(draw.ints(9, 0, 6)), {draw.normal({6, 2, 3})});
  });
}

TEST_CASE("an empty selection gives an empty result, and a gradient of zeros") {
  for (Device device : devices()) {
    const Var x = Var::parameter(Tensor::full({4, 3}, 1.0, DType::f32, device));
    const Var y = index_select(x, Tensor::empty({0}, DType::i32, device));
    CHECK(y.shape() == Shape{0, 3});
    y.backward(Tensor::empty({0, 3}, DType::f32, device));
    CHECK(close(x.grad(), Numbers(12, 0.0), 0.0));
  }
}

TEST_CASE("index_select refuses an index out of range") {
  const Tensor x = Tensor::zeros({4, 3});
  for (int32_t bad : {-1, 4})
    CHECK(mentions(error_of([&] { index_select(x, Tensor::from<int32_t>({0, bad})); }), std::to_string(bad)));
}

TEST_CASE("index_select takes elements of a vector and matrices of a stack") {
  on_devices(44, DType::f32, [&](Draw& draw, Device device) {
    const Tensor index = Tensor::from<int32_t>({2, 0, 2}, device);
    const Tensor v = draw.normal({3}), stack = draw.normal({3, 2, 5});
    const Var y = index_select(v, index), z = index_select(stack, index);
    CHECK(y.shape() == Shape{3});
    CHECK(z.shape() == Shape{3, 2, 5});
    for (int64_t k = 0; k < 3; ++k) {
      const int64_t row = index.to_vector<int32_t>()[uz(k)];
      CHECK(same_bits(y.value().rows(k, k + 1), v.rows(row, row + 1)));
      CHECK(same_bits(z.value().rows(k, k + 1), stack.rows(row, row + 1)));
    }
  });
  CHECK_ERROR_HAS(index_select(Tensor::zeros({}), Tensor::zeros({1}, DType::i32)), "[]");
  CHECK_THROWS_AS(index_select(Tensor::zeros({3}), Tensor::zeros({1})), Error);
}

TEST_CASE("interleave_rows takes each row of its parts once") {
  on_devices(77, DType::f64, [](Draw& draw, Device device) {
    for (const std::vector<int64_t>& counts :
         {std::vector<int64_t>{5}, {3, 0, 4}, {0, 1, 6, 2}, std::vector<int64_t>(70, 1)}) {
      std::vector<Tensor> parts;
      std::vector<double> all;
      for (const int64_t count : counts) {
        parts.push_back(draw.normal({count, 3}));
        const Numbers numbers = values(parts.back());
        all.insert(all.end(), numbers.begin(), numbers.end());
      }
      std::vector<int32_t> order(all.size() / 3);
      for (size_t k = 0; k < order.size(); ++k) order[(k * 11 + 2) % order.size()] = static_cast<int32_t>(k);
      const Tensor of_rows = Tensor::from(order, device);
      const auto run = [&](const std::vector<Var>& x) { return interleave_rows(x, of_rows); };
      std::vector<Var> inputs(parts.begin(), parts.end());
      const Numbers y = values(run(inputs).value());
      for (size_t k = 0; k < order.size(); ++k)
        for (size_t i = 0; i < 3; ++i) CHECK(y[3 * k + i] == all[3 * uz(order[k]) + i]);
      check_each(run, parts);
    }
    const Var x(draw.normal({4, 2}));
    CHECK_ERROR_HAS((void)interleave_rows({x, Var(draw.normal({1, 3}))}, Tensor::from<int32_t>({0}, device)),
                    "expected one width");
    CHECK_ERROR_HAS((void)interleave_rows({x}, Tensor::from<int32_t>({0}, device)), "expected int32 [4]");
  });
}
