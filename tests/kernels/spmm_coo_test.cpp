#include "../op_table.h"
#include "../structures.h"
#include "cases.h"
#include <adjoint/kernels/aggregate/spmm_coo.h>

#include <limits>

using namespace adj;
using namespace adj::test;

namespace {

/// Random ones of both shapes, with parallel edges; stars towards and from a node; sorted by row, so that
/// rows form runs; with loops among the entries, and one of each row at the end; without entries.
const std::vector<HostCoo>& lists() {
  static const std::vector<HostCoo> all = [] {
    std::vector<HostCoo> lists{random_list(97, 97, 500), random_list(301, 40, 700), random_list(5, 211, 640),
                               random_list(3, 3, 400)};
    HostCoo star = random_list(700, 700, 5003);
    for (size_t e = 0; e < star.row.size(); e += 3) star.row[e] = 17;
    for (size_t e = 1; e < star.row.size(); e += 3) star.col[e] = 18;
    lists.push_back(star);
    HostCoo runs = random_list(50, 60, 1001);
    std::sort(runs.row.begin(), runs.row.end());
    lists.push_back(runs);
    HostCoo looped = random_list(90, 90, 300);
    for (size_t e = 0; e < looped.row.size(); e += 7) looped.col[e] = looped.row[e];
    lists.push_back(with_loops(looped));
    lists.push_back({4, 6, {2}, {5}});
    lists.push_back({8, 9, {}, {}});
    lists.push_back({0, 0, {}, {}});
    return lists;
  }();
  return all;
}

Tensor multiplied(const Coo& a, const Tensor& weight, const Tensor& x,
                  kernels::ScatterSums sums = kernels::ScatterSums::fixed_point) {
  Tensor y = Tensor::full({a.rows, x.size(1)}, NAN, x.dtype(), x.device());
  kernels::spmm_coo({.a = a, .values = weight, .x = x, .sums = sums, .y = y});
  return y;
}

}  // namespace

TEST_CASE("spmm_coo and its gradients, by the table of ops") {
  // Enough work for several threads, with rows of very different lengths.
  HostCoo star = random_list(3000, 3000, 20001);
  for (size_t e = 0; e < star.row.size(); e += 2) star.row[e] = 1234;
  for (size_t e = 0; e < star.row.size(); e += 7) star.col[e] = 77;
  std::vector<ops::Links> graphs{{.list = star.to({})}};
  for (const HostCoo& list : lists()) graphs.push_back({.list = list.to({})});
  hold(ops::list_products(), graphs);
}

TEST_CASE("in spmm_coo NaN and infinities stay in their rows") {
  const HostCoo list{3, 4, {0, 0, 1, 2, 2, 2}, {0, 1, 2, 1, 3, 3}};
  on_devices({DType::f32, DType::bf16}, [&](Device device, DType dtype) {
    const Coo a = list.to(device);
    for (double bad : {INFINITY, -INFINITY, NAN})
      for (int64_t width : {1, 5, 8}) {
        CAPTURES(bad, width);
        std::vector<float> of_x(uz(4 * width), 1.0f);
        of_x[uz(1 * width)] = static_cast<float>(bad);  // feature 0 of source 1
        const Tensor x = Tensor::from(of_x, {4, width}).to(dtype).to(device);
        const Numbers result = values(multiplied(a, {}, x));
        for (int64_t i = 0; i < 3; ++i)
          for (int64_t f = 0; f < width; ++f) {
            CAPTURES(i, f);
            const double value = result[uz(i * width + f)];
            if (f == 0 && i != 1) {
              CHECK_FALSE(std::isfinite(value));
            } else {
              CHECK(value == (i == 0 ? 2.0 : i == 1 ? 1.0 : 3.0));
            }
          }
        const Tensor w = Tensor::from<float>({1, 1, static_cast<float>(bad), 1, 1, 1}, device);
        const Tensor ones = Tensor::full({4, width}, 1.0, dtype, device);
        const Numbers weighted = values(multiplied(a, w, ones));
        for (int64_t i = 0; i < 3; ++i) CHECK(std::isfinite(weighted[uz(i * width)]) == (i != 1));
      }
  });
}

TEST_CASE("accumulators of spmm_coo do not overflow for numbers of any magnitude") {
  // Huge terms that cancel, and tiny ones in the same and in other rows: results are right relative to the
  // largest term.
  const int64_t terms = 4096;
  HostCoo list{3, 4, {}, {}};
  for (int64_t e = 0; e < terms; ++e) {
    list.row.push_back(0), list.col.push_back(static_cast<int32_t>(e % 2));  // +1e30, -1e30
    list.row.push_back(1), list.col.push_back(0);                            // +1e30
    list.row.push_back(2), list.col.push_back(2);                            // 1e-30
  }
  for (Device device : devices()) {
    const Coo a = list.to(device);
    for (int64_t width : {1, 4, 20}) {
      std::vector<float> of_x;
      for (float v : {1e30f, -1e30f, 1e-30f, 1.0f})
        for (int64_t f = 0; f < width; ++f) of_x.push_back(v);
      const Tensor x = Tensor::from(of_x, {4, width}, device);
      const Numbers result = values(multiplied(a, {}, x));
      for (int64_t f = 0; f < width; ++f) {
        CHECK(result[uz(f)] == 0.0);
        CHECK(result[uz(width + f)] == doctest::Approx(static_cast<double>(terms) * 1e30).epsilon(1e-4));
        CHECK(std::abs(result[uz(2 * width + f)]) <= static_cast<double>(terms) * 1e-30 * 1.001);
      }
      // Weights as large: sums beyond float32 are infinite, those of small products exact.
      const Tensor w = Tensor::full({3 * terms}, 1e30, DType::f32, device);
      CHECK(std::isinf(values(multiplied(a, w, x))[uz(width)]));
    }
    // All at float32's maximum.
    const Tensor most = Tensor::full({4, 4}, std::numeric_limits<float>::max(), DType::f32, device);
    const Tensor quarter =
        Tensor::full({3 * terms}, 1.0 / static_cast<double>(4 * terms), DType::f32, device);
    for (double sum : values(multiplied(a, quarter, most)))
      CHECK(sum == doctest::Approx(static_cast<double>(std::numeric_limits<float>::max()) / 4).epsilon(1e-4));
  }
}

TEST_CASE("float atomics, on request, give nearly the same sums") {
  on_devices({DType::f32, DType::bf16}, [](Device device, DType dtype) {
    for (const HostCoo& list : lists())
      for (int64_t width : {0, 1, 3, 8, 33, 64, 128, 256}) {
        CAPTURES(list.rows, list.cols, width);
        const Tensor x = random_tensor({list.cols, width}, dtype, device);
        const Tensor w = random_tensor({list.entries()}, DType::f32, device);
        const Tensor y =
            multiplied(list.to(device), w, x, kernels::ScatterSums::float_atomics_not_reproducible);
        CHECK(close(y, plain_spmm(list, list.rows, w, x), dtype == DType::bf16 ? 8e-3 : 2e-4));
      }
  });
}

TEST_CASE("spmm_coo rejects mismatched arguments") {
  for (Device device : devices()) {
    const HostCoo list = random_list(5, 4, 10);
    const Coo a = list.to(device);
    const Tensor x = random_tensor({4, 3}, DType::f32, device),
                 wrong = random_tensor({5, 3}, DType::f32, device);
    Tensor y = Tensor::empty({5, 3}, DType::f32, device), absent;
    const Tensor w = random_tensor({9}, DType::f32, device);
    CHECK_ERROR_HAS(kernels::spmm_coo({.a = a, .x = wrong, .y = y}), "spmm_coo: x is");
    CHECK_ERROR_HAS(kernels::spmm_coo({.a = a, .values = w, .x = x, .y = y}), "spmm_coo: values is");
    Tensor narrow = Tensor::empty({5, 2}, DType::f32, device);
    CHECK_ERROR_HAS(kernels::spmm_coo({.a = a, .x = x, .y = narrow}), "spmm_coo: y is");
    Tensor dw = Tensor::empty({9}, DType::f32, device);
    CHECK_ERROR_HAS(kernels::spmm_coo_backward({.a = a, .dy = wrong, .x = x, .dx = absent, .dw = dw}),
                    "spmm_coo_backward: dw is");
    Coo short_list = a;
    short_list.col = short_list.col.rows(0, 9);
    CHECK_ERROR_HAS(kernels::spmm_coo({.a = short_list, .x = x, .y = y}), "spmm_coo: col is");
    Coo looped = a;
    looped.loops = 4;
    CHECK_ERROR_HAS(kernels::spmm_coo({.a = looped, .x = x, .y = y}), "spmm_coo: 4 loops");
    if (device.is_cpu()) continue;
    const Tensor wide = x.to(DType::f64);
    Tensor wide_y = y.to(DType::f64);
    CHECK_ERROR_HAS(kernels::spmm_coo({.a = a, .x = wide, .y = wide_y}),
                    "fixed-point sums do not support float64");
  }
}
