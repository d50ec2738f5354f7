#include "../reference/plain.h"
#include <adjoint/autograd/gather.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("gather_rows takes rows, repeated ones too") {
  for (Device device : devices()) {
    Draw draw(40, device, DType::f32);
    const Tensor x = draw.normal({9, 5}), index = draw.ints(23, 0, 9);
    const Dense d(x);
    std::vector<double> expected;
    for (int32_t i : index.to_vector<int32_t>())
      for (int64_t j = 0; j < 5; ++j) expected.push_back(d(i, j));
    const Var y = gather_rows(x, index);
    CHECK(y.shape() == Shape{23, 5});
    CHECK(close(y.value(), expected, 0.0));
  }
}

TEST_CASE("gradients of gather_rows") {
  for (Device device : devices()) {
    Draw draw(41, device);
    const Tensor x = draw.normal({6, 3});
    const auto taking = [](const Tensor& index) {
      return [index](const std::vector<Var>& v) { return gather_rows(v[0], index); };
    };
    check(taking(draw.ints(17, 0, 6)), {x});
    check(taking(draw.distinct(4, 6)), {x});
    check(taking(Tensor::full({5}, 2.0, DType::i32, device)), {x});
  }
}

TEST_CASE("gathering nothing gives nothing, and no gradient but zeros") {
  for (Device device : devices()) {
    const Var x = Var::parameter(Tensor::full({4, 3}, 1.0, DType::f32, device));
    const Var y = gather_rows(x, Tensor::empty({0}, DType::i32, device));
    CHECK(y.shape() == Shape{0, 3});
    y.backward(Tensor::empty({0, 3}, DType::f32, device));
    CHECK(close(x.grad(), std::vector<double>(12, 0.0), 0.0));
  }
}

TEST_CASE("gather_rows refuses an index out of range") {
  const Tensor x = Tensor::zeros({4, 3});
  for (int32_t bad : {-1, 4})
    CHECK(mentions(error_of([&] {
                     gather_rows(x, Tensor::from(std::vector<int32_t>{0, bad}));
                   }),
                   std::to_string(bad)));
}

TEST_CASE("concat_columns puts parts side by side") {
  for (Device device : devices()) {
    Draw draw(42, device, DType::f32);
    const std::vector<int64_t> widths{3, 1, 8, 2};
    std::vector<Var> parts;
    for (int64_t width : widths) parts.push_back(draw.normal({5, width}));
    const Dense y(concat_columns(parts).value());
    REQUIRE(y.cols == 14);
    int64_t at = 0;
    for (const Var& part : parts) {
      const Dense d(part.value());
      for (int64_t i = 0; i < 5; ++i)
        for (int64_t j = 0; j < d.cols; ++j) CHECK(y(i, at + j) == d(i, j));
      at += d.cols;
    }
  }
}

TEST_CASE("gradients of concat_columns") {
  for (Device device : devices()) {
    Draw draw(43, device);
    check([](const auto& v) { return concat_columns(v); }, {draw.normal({4, 3})});
    check([](const auto& v) { return concat_columns(v); },
          {draw.normal({4, 3}), draw.normal({4, 1}), draw.normal({4, 5})});
    check(
        [](const auto& v) {
          return concat_columns({v[0], v[1], v[0]});
        },
        {draw.normal({4, 3}), draw.normal({4, 2})});
    const Tensor constant = draw.normal({4, 2});
    check([&](const auto& v) { return concat_columns({Var(constant), v[0]}); }, {draw.normal({4, 3})});
  }
}

TEST_CASE("concat_columns refuses parts that do not fit") {
  CHECK_THROWS_AS(concat_columns({}), Error);
  CHECK_THROWS_AS(concat_columns({Tensor::zeros({4, 3}), Tensor::zeros({5, 3})}), Error);
  CHECK_THROWS_AS(concat_columns({Tensor::zeros({4, 3}), Tensor::zeros({4, 3}, DType::f64)}), Error);
}
