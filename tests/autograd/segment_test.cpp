#include "../reference/plain.h"
#include <adjoint/autograd/segment.h>

using namespace adj;
using namespace adj::test;

namespace {

/// Segments of 0, 1 and more rows; with `heavy` also one of 20,000, which every method splits.
std::vector<int64_t> bounds(bool heavy) {
  std::vector<int64_t> offsets{0, 0, 3, 4, 4, 11, 13, 13};
  if (heavy) offsets.push_back(20013);
  return offsets;
}

Numbers plain(const Tensor& x, const std::vector<int64_t>& offsets, bool mean) {
  const Dense d(x);
  Dense y(static_cast<int64_t>(offsets.size()) - 1, d.cols);
  for (int64_t g = 0; g < y.rows; ++g) {
    const int64_t begin = offsets[uz(g)], end = offsets[uz(g) + 1];
    for (int64_t k = begin; k < end; ++k)
      for (int64_t f = 0; f < d.cols; ++f)
        y(g, f) += d(k, f) / (mean ? static_cast<double>(end - begin) : 1.0);
  }
  return y.data;
}

}  // namespace

TEST_CASE("segment_sum and segment_mean equal plain loops") {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16})
    for (bool heavy : {false, true})
      for (int64_t width : {1, 5, 32})
        on_devices(90, DType::f32, [&](Draw& draw, Device device) {
          CAPTURES(name_of(dtype), heavy, width);
          const std::vector<int64_t> offsets = bounds(heavy);
          const Tensor x = draw.normal({offsets.back(), width}).to(dtype),
                       ptr = Tensor::from(offsets, device);
          const double off = dtype == DType::f64 ? 1e-12 : dtype == DType::bf16 ? 8e-3 : 2e-5;
          CHECK(close(segment_sum(x, ptr).value(), plain(x, offsets, false), off));
          CHECK(close(segment_mean(x, ptr).value(), plain(x, offsets, true), off));
        });
}

TEST_CASE("gradients of segment reductions") {
  on_devices(91, DType::f64, [&](Draw& draw, Device device) {
    const Tensor ptr = Tensor::from(bounds(false), device), x = draw.normal({13, 3});
    check([&](const auto& v) { return segment_sum(v[0], ptr); }, {x});
    check([&](const auto& v) { return segment_mean(v[0], ptr); }, {x});
  });
}

TEST_CASE("segment_max and segment_min equal plain loops, and the winner gets the gradient") {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16})
    for (bool heavy : {false, true})
      for (int64_t width : {1, 5, 32})
        for (bool largest : {false, true})
          on_devices(92, DType::f32, [&](Draw& draw, Device device) {
            CAPTURES(name_of(dtype), heavy, width, largest);
            const std::vector<int64_t> offsets = bounds(heavy);
            const auto segments = static_cast<int64_t>(offsets.size()) - 1;
            const Var x = Var::parameter(draw.normal({offsets.back(), width}).to(dtype));
            const Tensor dy = draw.normal({segments, width}).to(dtype), ptr = Tensor::from(offsets, device);
            const Dense in(x.value()), seed(dy);
            Dense expected(segments, width), gradient(in.rows, width);
            for (int64_t g = 0; g < segments; ++g)
              for (int64_t f = 0; f < width; ++f) {
                const int64_t begin = offsets[uz(g)], end = offsets[uz(g) + 1];
                if (begin == end) continue;
                int64_t best = begin;
                for (int64_t k = begin; k < end; ++k)
                  if (largest ? in(k, f) > in(best, f) : in(k, f) < in(best, f)) best = k;
                expected(g, f) = in(best, f);
                gradient(best, f) = seed(g, f);
              }
            const Var y = largest ? segment_max(x, ptr) : segment_min(x, ptr);
            CHECK(close(y.value(), expected.data, 0.0));
            y.backward(dy);
            CHECK(close(x.grad(), gradient.data, dtype == DType::f64 ? 0.0 : 1e-6));
          });
}

TEST_CASE("no segments, and empty segments") {
  for (Device device : devices()) {
    const Var x = Var::parameter(Tensor::empty({0, 3}, DType::f32, device));
    CHECK(segment_sum(x, Tensor::zeros({1}, DType::i64, device)).shape() == Shape{0, 3});
    const Var y = segment_mean(x, Tensor::zeros({3}, DType::i64, device));
    CHECK(close(y.value(), Numbers(6, 0.0), 0.0));
    y.backward(Tensor::zeros({2, 3}, DType::f32, device));
    CHECK(x.grad().shape() == Shape{0, 3});
  }
}

TEST_CASE("segment reductions refuse invalid offsets") {
  const Tensor x = Tensor::zeros({4, 2});
  const auto error = [&](std::vector<int64_t> offsets) {
    return error_of([&] { segment_sum(x, Tensor::from(offsets)); });
  };
  CHECK_ERROR_HAS(segment_max(x, Tensor::from<int64_t>({1, 4})), "begin at 1");
  CHECK(mentions(error({1, 4}), "begin at 1"));
  CHECK(mentions(error({0, 3}), "end at 3"));
  CHECK(mentions(error({0, 3, 2, 4}), "offsets[1] is 3"));
  CHECK_ERROR_HAS(segment_mean(x, Tensor::from<int32_t>({0, 4})), "int64");
}
