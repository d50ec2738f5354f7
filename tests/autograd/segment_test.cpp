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

/// An edge from each row to its segment.
Relation relation_of(const std::vector<int64_t>& offsets) {
  std::vector<int32_t> row, segment;
  for (size_t g = 0; g + 1 < offsets.size(); ++g)
    for (int64_t k = offsets[g]; k < offsets[g + 1]; ++k) {
      row.push_back(static_cast<int32_t>(k));
      segment.push_back(static_cast<int32_t>(g));
    }
  return Relation::from_coo(offsets.back(), std::ssize(offsets) - 1, Tensor::from(row),
                            Tensor::from(segment));
}

const std::pair<Var (*)(const Var&, const Tensor&), Reduce> kSegmentReductions[] = {
    {segment_sum, Reduce::sum},
    {segment_mean, Reduce::mean},
    {segment_max, Reduce::max},
    {segment_min, Reduce::min}};

}  // namespace

TEST_CASE("segment reductions equal plain loops") {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16})
    for (bool heavy : {false, true})
      for (int64_t width : {1, 5, 32})
        on_devices(90, DType::f32, [&](Draw& draw, Device device) {
          CAPTURES(name_of(dtype), heavy, width);
          const std::vector<int64_t> offsets = bounds(heavy);
          const Tensor x = draw.normal({offsets.back(), width}).to(dtype),
                       ptr = Tensor::from(offsets, device);
          for (const auto& [f, reduce] : kSegmentReductions) {
            CAPTURE(name_of(reduce));
            const bool exact = reduce == Reduce::max || reduce == Reduce::min;
            const double off = dtype == DType::f64 ? 1e-12 : dtype == DType::bf16 ? 8e-3 : 2e-5;
            CHECK(close(f(x, ptr).value(), reduced(relation_of(offsets), Dense(x), reduce).data,
                        exact ? 0.0 : off));
          }
        });
}

TEST_CASE("gradients of segment reductions") {
  on_devices(91, DType::f64, [&](Draw& draw, Device device) {
    const Tensor ptr = Tensor::from(bounds(false), device), x = draw.normal({13, 3});
    for (const auto& reduction : kSegmentReductions)
      check([&](const auto& v) { return reduction.first(v[0], ptr); }, {x});
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
