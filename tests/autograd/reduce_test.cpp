#include "../reference/plain.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/reduce.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("sums and means equal plain loops") {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{5, 3}, Shape{1237, 17}, Shape{2, 3, 4}})
    on_devices(30, DType::f64, [&](Draw& draw, Device) {
      CAPTURE(shape.str());
      const Tensor x = draw.normal(shape);
      const Numbers all = values(x);
      const double n = static_cast<double>(x.numel()), total = std::reduce(all.begin(), all.end());
      CHECK(sum(x).value().shape() == Shape{});
      CHECK(sum(x).item() == doctest::Approx(total).epsilon(1e-12));
      CHECK(mean(x).item() == doctest::Approx(total / n).epsilon(1e-12));
      CHECK(sum(x.to(DType::f32)).item() == doctest::Approx(total).epsilon(1e-5));
      if (x.numel() > 100) return;
      check([](const auto& v) { return sum(v[0]); }, {x});
      check([](const auto& v) { return mean(v[0]); }, {x});
    });
  CHECK(sum(Tensor::zeros({0, 3})).item() == 0.0);
  CHECK_THROWS_AS(mean(Tensor::zeros({0, 3})), Error);
}

TEST_CASE("sum, mean and max over any dimension") {
  for (const Shape& shape :
       {Shape{7}, Shape{5, 3}, Shape{1, 7}, Shape{6, 1}, Shape{1000, 33}, Shape{4, 3, 5}, Shape{2, 3, 2, 3}})
    on_devices(33, DType::f64, [&](Draw& draw, Device) {
      const Tensor x = draw.normal(shape);
      const Numbers in = values(x);
      int64_t inner = 1;
      for (int dim = shape.dims() - 1; dim >= 0; --dim) {
        CAPTURES(shape.str(), dim);
        const int64_t n = shape[dim];
        Numbers sums(in.size() / uz(n)), largest(sums.size());
        std::vector<int32_t> where(sums.size());
        for (size_t i = 0; i < sums.size(); ++i)
          for (int64_t k = 0; k < n; ++k) {
            const auto result = static_cast<int64_t>(i);
            const double v = in[uz((result / inner * n + k) * inner + result % inner)];
            sums[i] += v;
            if (k > 0 && v <= largest[i]) continue;
            largest[i] = v;
            where[i] = static_cast<int32_t>(k);
          }
        CHECK(close(sum(x, dim).value(), sums, x.numel() > 100 ? 1e-12 : 1e-14));
        CHECK(close(sum(x.to(DType::f32), dim).value(), sums, 1e-5));
        CHECK(sum(x, dim).shape().dims() == shape.dims() - 1);
        CHECK(sum(x, dim, true).size(dim) == 1);
        CHECK(sum(x, dim, true).shape().dims() == shape.dims());
        CHECK(same_bits(sum(x, dim).value(), sum(x, dim - shape.dims()).value()));
        const auto [values_of, indices] = max(x, dim);
        CHECK(close(values_of.value(), largest, 0.0));
        CHECK(indices.to_vector<int32_t>() == where);
        CHECK(indices.shape() == sum(x, dim).shape());
        for (double& s : sums) s /= static_cast<double>(n);
        CHECK(close(mean(x, dim).value(), sums, 1e-14));
        inner *= n;
        if (x.numel() > 100) continue;
        check([=](const auto& v) { return sum(v[0], dim); }, {x});
        check([=](const auto& v) { return mean(v[0], dim, true); }, {x});
        check([=](const auto& v) { return max(v[0], dim).values; }, {x});
        check([=](const auto& v) { return v[0] / sum(v[0] * v[0] + 1.0, dim, true); }, {x});
      }
    });
}

TEST_CASE("ties of max give the gradient to the first element") {
  for (Device device : devices()) {
    const Var x = Var::parameter(Tensor::from<float>({1, 2, 2, 2, 1, 2}, {2, 3}, device));
    sum(max(x, 1).values).backward();
    CHECK(close(x.grad(), Numbers{0, 1, 0, 1, 0, 0}, 0.0));
    Var y = Var::parameter(x.value().clone());
    sum(max(y, 0).values).backward();
    CHECK(close(y.grad(), Numbers{0, 1, 1, 1, 0, 0}, 0.0));
  }
}

TEST_CASE("reductions over a dimension refuse missing dimensions") {
  const Var x = Tensor::zeros({4, 0});
  for (const std::string& message : {error_of([&] { sum(x, 2); }), error_of([&] { max(x, -3); }),
                                     error_of([&] { max(x, 1); }), error_of([&] { mean(x, 1); })})
    CHECK(mentions(message, "[4, 0]"));
  on_devices([](Device device) {
    const Tensor none = Tensor::zeros({4, 0}, DType::f64, device);
    CHECK(close(sum(none, 1).value(), Numbers(4, 0.0), 0.0));
    CHECK(sum(none, 0).shape() == Shape{0});
  });
}
