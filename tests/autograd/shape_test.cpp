#include "../reference/plain.h"
#include <adjoint/autograd/shape.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("reshape shares the elements and finds one extent itself") {
  on_devices(45, DType::f64, [&](Draw& draw, Device) {
    const Tensor x = draw.normal({4, 6});
    const Var y = reshape(x, {2, -1, 3});
    CHECK(y.shape() == Shape{2, 4, 3});
    CHECK(y.value().shares_storage_with(x));
    CHECK(reshape(x, Shape{24}).shape() == Shape{24});
    check([](const auto& v) { return reshape(v[0], {3, 8}); }, {x});
    check([](const auto& v) { return reshape(reshape(v[0], {-1}), {2, 12}); }, {x});
  });
  CHECK_THROWS_AS(reshape(Tensor::zeros({4, 6}), {5, -1}), Error);
  CHECK_THROWS_AS(reshape(Tensor::zeros({4, 6}), {5, 5}), Error);
}

TEST_CASE("narrow takes rows, columns and slices of a middle dimension") {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16})
    on_devices(46, DType::f32, [&](Draw& draw, Device) {
      CAPTURE(name_of(dtype));
      const Tensor x = draw.normal({5, 7, 3}).to(dtype);
      const Numbers all = values(x);
      for (int dim = 0; dim < 3; ++dim)
        for (const auto& [begin, length] :
             {std::pair<int64_t, int64_t>{0, 1}, {1, 2}, {2, 1}, {0, 3}, {3, 0}}) {
          CAPTURES(dim, begin, length);
          const int64_t outer = dim == 0 ? 1 : dim == 1 ? 5 : 35, inner = dim == 0 ? 21 : dim == 1 ? 3 : 1;
          Numbers expected;
          for (int64_t i = 0; i < outer; ++i)
            for (int64_t j = begin; j < begin + length; ++j)
              for (int64_t k = 0; k < inner; ++k)
                expected.push_back(all[uz((i * x.size(dim) + j) * inner + k)]);
          const Var y = narrow(x, dim, begin, length);
          CHECK(y.size(dim) == length);
          CHECK(close(y.value(), expected, 0.0));
          CHECK(same_bits(y.value(), narrow(x, dim - 3, begin, length).value()));
        }
    });
}

TEST_CASE("gradients of narrow are zero outside of the slice") {
  on_devices(47, DType::f64, [&](Draw& draw, Device) {
    const Tensor x = draw.normal({4, 5, 2});
    for (int dim = 0; dim < 3; ++dim)
      for (int64_t begin : {0, 1}) {
        check([=](const auto& v) { return narrow(v[0], dim, begin, 1); }, {x});
        check([=](const auto& v) { return narrow(v[0], dim, begin, 0); }, {x});
      }
    check([](const auto& v) { return narrow(v[0], 0, 2, 2); }, {draw.normal({4})});
    // Two slices of one variable meet in its gradient.
    check({draw.normal({4, 5})}, [](const auto& v) {
      return cat({narrow(v[0], 1, 1, 3), narrow(v[0], 1, 0, 2)}, 1);
    });
  });
}

TEST_CASE("narrow refuses ranges outside, naming the shape") {
  const Var x = Tensor::zeros({4, 5});
  for (const std::string& message :
       {error_of([&] { narrow(x, 0, 2, 3); }), error_of([&] { narrow(x, 1, -1, 2); }),
        error_of([&] { narrow(x, 1, 6, 0); }), error_of([&] { narrow(x, 2, 0, 1); })})
    CHECK(mentions(message, "[4, 5]"));
}

TEST_CASE("cat joins columns") {
  on_devices(42, DType::f32, [&](Draw& draw, Device) {
    const std::vector<int64_t> widths{3, 1, 8, 2};
    std::vector<Var> parts;
    std::vector<Dense> plain;
    for (int64_t width : widths) plain.emplace_back(parts.emplace_back(draw.normal({5, width})).value());
    CHECK(close(cat(parts, 1).value(), joined(plain).data, 0.0));
  });
}

TEST_CASE("gradients of cat") {
  on_devices(43, DType::f64, [&](Draw& draw, Device) {
    check([](const auto& v) { return cat(v, 1); }, {draw.normal({4, 3})});
    check([](const auto& v) { return cat(v, 1); },
          {draw.normal({4, 3}), draw.normal({4, 1}), draw.normal({4, 5})});
    check({draw.normal({4, 3}), draw.normal({4, 2})}, [](const auto& v) {
      return cat({v[0], v[1], v[0]}, 1);
    });
    const Tensor constant = draw.normal({4, 2});
    check([&](const auto& v) { return cat({Var(constant), v[0]}, 1); }, {draw.normal({4, 3})});
  });
}

TEST_CASE("cat rejects mismatched parts") {
  CHECK_THROWS_AS(cat({}), Error);
  const std::string message = error_of([] { cat({Tensor::zeros({4, 3}), Tensor::zeros({5, 3})}, 1); });
  CHECK(mentions(message, "[4, 3]"));
  CHECK(mentions(message, "[5, 3]"));
  CHECK_THROWS_AS(cat({Tensor::zeros({4, 3}), Tensor::zeros({4, 2})}), Error);
  CHECK_THROWS_AS(cat({Tensor::zeros({4, 3}), Tensor::zeros({4})}), Error);
  CHECK_THROWS_AS(cat({Tensor::zeros({4, 3}), Tensor::zeros({4, 3}, DType::f64)}), Error);
  CHECK_THROWS_AS(cat({Tensor::zeros({4, 3})}, 2), Error);
}

TEST_CASE("cat joins rows, vectors and stacks, empty parts too") {
  on_devices(48, DType::f64, [&](Draw& draw, Device) {
    const Tensor a = draw.normal({2, 3}), b = draw.normal({0, 3}), c = draw.normal({4, 3});
    const Var y = cat({a, b, c});
    CHECK(y.shape() == Shape{6, 3});
    CHECK(same_bits(y.value().rows(0, 2), a));
    CHECK(same_bits(y.value().rows(2, 6), c));
    check([](const auto& v) { return cat({v[0], v[1], v[0]}); }, {draw.normal({5}), draw.normal({2})});
    check([](const auto& v) { return cat(v, 0); }, {a, b, c});
    check([](const auto& v) { return cat(v, -1); }, {draw.normal({2, 3, 1}), draw.normal({2, 3, 4})});
    check([](const auto& v) { return cat(v, 1); }, {draw.normal({2, 3, 2}), draw.normal({2, 1, 2})});
  });
}

TEST_CASE("transpose exchanges two dimensions, of any dtype, and its gradient those of the gradient") {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16})
    on_devices(48, DType::f32, [&](Draw& draw, Device) {
      for (const Shape& shape : {Shape{70, 33}, {2, 35, 3}, {3, 2, 4, 5}, {2, 0, 3}, {1, 64}})
        for (int a = 0; a < shape.dims(); ++a)
          for (int b = 0; b < shape.dims(); ++b) {
            CAPTURES(shape.str(), a, b);
            const Tensor x = draw.normal(shape).to(dtype);
            const Var y = transpose(x, a, b - shape.dims());
            CHECK(y.shape() == shape.with(a, shape[b]).with(b, shape[a]));
            const Numbers all = values(x), turned = values(y.value());
            std::vector<int64_t> place(uz(shape.dims()));
            size_t wrong = 0;
            for (int64_t i = 0; i < x.numel(); ++i) {
              for (int64_t d = shape.dims() - 1, rest = i; d >= 0; --d) {
                place[uz(d)] = rest % shape[static_cast<int>(d)];
                rest /= shape[static_cast<int>(d)];
              }
              std::swap(place[uz(a)], place[uz(b)]);
              int64_t position = 0;
              for (int d = 0; d < shape.dims(); ++d) position = position * y.size(d) + place[uz(d)];
              wrong += turned[uz(position)] != all[uz(i)];
            }
            CHECK(wrong == 0);
          }
    });
  on_devices(49, DType::f64, [&](Draw& draw, Device) {
    check([](const auto& v) { return transpose(v[0]); }, {draw.normal({3, 5})});
    check([](const auto& v) { return transpose(v[0], 0, -1) * 2.0; }, {draw.normal({2, 3, 4})});
  });
  CHECK_ERROR_HAS(transpose(Var(Tensor::zeros({4, 6})), 0, 2), "transpose: no dimension 2");
}
