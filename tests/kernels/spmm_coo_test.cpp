#include "cases.h"
#include <adjoint/kernels/aggregate/spmm_coo.h>

#include <limits>

using namespace adj;
using namespace adj::test;

namespace {

struct List {
  const char* name;
  int64_t rows, cols;
  std::vector<int32_t> row, col;
  bool loops = false;  ///< one of each row at the end

  Coo on(Device device) const {
    return {rows, cols, Tensor::from(row, device), Tensor::from(col, device), loops ? rows : 0};
  }
  int64_t entries() const { return std::ssize(row); }
};

List random_list(const char* name, int64_t rows, int64_t cols, int64_t entries) {
  return {name, rows, cols, random_ints(entries, 0, static_cast<int32_t>(rows)).to_vector<int32_t>(),
          random_ints(entries, 0, static_cast<int32_t>(cols)).to_vector<int32_t>()};
}

/// Random ones of either shape, parallel edges among them; stars towards and from a node; sorted by row, so
/// that rows come in runs; with loops among the entries, and one of each row at the end; without entries.
const std::vector<List>& lists() {
  static const std::vector<List> all = [] {
    std::vector<List> lists{random_list("square", 97, 97, 500), random_list("tall", 301, 40, 700),
                            random_list("wide", 5, 211, 640), random_list("parallel", 3, 3, 400)};
    List star = random_list("star", 700, 700, 5003);
    for (size_t e = 0; e < star.row.size(); e += 3) star.row[e] = 17;
    for (size_t e = 1; e < star.row.size(); e += 3) star.col[e] = 18;
    lists.push_back(star);
    List runs = random_list("runs", 50, 60, 1001);
    std::sort(runs.row.begin(), runs.row.end());
    lists.push_back(runs);
    List looped = random_list("looped", 90, 90, 300);
    for (size_t e = 0; e < looped.row.size(); e += 7) looped.col[e] = looped.row[e];
    for (int32_t i = 0; i < 90; ++i) looped.row.push_back(i), looped.col.push_back(i);
    looped.loops = true;
    lists.push_back(looped);
    lists.push_back({"one entry", 4, 6, {2}, {5}});
    lists.push_back({"empty", 8, 9, {}, {}});
    lists.push_back({"nothing", 0, 0, {}, {}});
    return lists;
  }();
  return all;
}

const std::vector<int64_t> kWidths{0, 1, 3, 8, 33, 64, 128, 256};

/// With weights, which may be absent.
Numbers multiply_plainly(const List& a, const Tensor& weight, const Tensor& x) {
  const Numbers w = weight ? values(weight) : Numbers(a.row.size(), 1.0), X = values(x);
  const int64_t width = x.size(1);
  Numbers y(uz(a.rows * width), 0.0);
  for (size_t e = 0; e < a.row.size(); ++e)
    for (int64_t f = 0; f < width; ++f) y[uz(a.row[e] * width + f)] += w[e] * X[uz(a.col[e] * width + f)];
  return y;
}

/// The same by spmm_coo.
Tensor multiplied(const Coo& a, const Tensor& weight, const Tensor& x,
                  kernels::ScatterSums sums = kernels::ScatterSums::fixed_point) {
  Tensor y = Tensor::full({a.rows, x.size(1)}, NAN, x.dtype(), x.device());
  kernels::spmm_coo({.a = a, .values = weight, .x = x, .sums = sums, .y = y});
  return y;
}

List turned(List a) {
  std::swap(a.rows, a.cols);
  std::swap(a.row, a.col);
  return a;
}

/// Relative to the largest sum.
double accepted(DType dtype) { return dtype == DType::bf16 ? 8e-3 : dtype == DType::f64 ? 1e-12 : 2e-5; }

/// f(list, device, dtype, width) over all that a list is summed in: float64 on the CPU alone.
template <class F>
void for_cases(F f) {
  on_devices({DType::f32, DType::bf16, DType::f64}, [&](Device device, DType dtype) {
    if (dtype == DType::f64 && device.is_cuda()) return;
    for (const List& list : lists())
      for (int64_t width : kWidths) {
        CAPTURES(list.name, width);
        f(list, device, dtype, width);
      }
  });
}

}  // namespace

TEST_CASE("spmm_coo equals the plain sum over a list, with and without weights") {
  for_cases([](const List& list, Device device, DType dtype, int64_t width) {
    const Tensor x = random_tensor({list.cols, width}, dtype, device);
    const Tensor w = random_tensor({list.entries()}, accumulator_dtype(dtype), device);
    for (const Tensor& weight : {Tensor(), w}) {
      CAPTURE(static_cast<bool>(weight));
      CHECK(
          close(multiplied(list.on(device), weight, x), multiply_plainly(list, weight, x), accepted(dtype)));
    }
  });
}

TEST_CASE("spmm_coo adds a bias and applies relu after the sum") {
  for_cases([](const List& list, Device device, DType dtype, int64_t width) {
    const Tensor x = random_tensor({list.cols, width}, dtype, device);
    const Tensor bias = random_tensor({width}, dtype, device);
    Tensor y = random_tensor({list.rows, width}, dtype, device);
    const Coo a = list.on(device);
    kernels::spmm_coo({.a = a, .x = x, .bias = bias, .activation = Activation::relu, .y = y});
    Numbers expected = multiply_plainly(list, {}, x);
    const Numbers b = values(bias);
    for (size_t k = 0; k < expected.size(); ++k) expected[k] = std::max(0.0, expected[k] + b[k % uz(width)]);
    CHECK(close(y, expected, accepted(dtype)));
  });
}

TEST_CASE("spmm_coo_backward equals plain sums and dot products") {
  for_cases([](const List& list, Device device, DType dtype, int64_t width) {
    const Coo a = list.on(device);
    const Tensor x = random_tensor({list.cols, width}, dtype, device);
    const Tensor dy = random_tensor({list.rows, width}, dtype, device);
    const Tensor w = random_tensor({list.entries()}, accumulator_dtype(dtype), device);
    const Numbers of_x = values(x), of_dy = values(dy);
    Numbers dots(list.row.size(), 0.0);
    for (size_t e = 0; e < dots.size(); ++e)
      for (int64_t f = 0; f < width; ++f)
        dots[e] += of_dy[uz(list.row[e] * width + f)] * of_x[uz(list.col[e] * width + f)];
    Tensor absent, dw = random_tensor({list.entries()}, accumulator_dtype(dtype), device);
    kernels::spmm_coo_backward({.a = a, .dy = dy, .x = x, .dx = absent, .dw = dw});
    CHECK(close(dw, dots, dtype == DType::f64 ? 1e-12 : 2e-5));
    for (const Tensor& weight : {Tensor(), w}) {
      CAPTURE(static_cast<bool>(weight));
      Tensor dx = random_tensor({list.cols, width}, dtype, device);
      dw = random_tensor({list.entries()}, accumulator_dtype(dtype), device);
      kernels::spmm_coo_backward({.a = a, .values = weight, .dy = dy, .x = x, .dx = dx, .dw = dw});
      CHECK(close(dw, dots, dtype == DType::f64 ? 1e-12 : 2e-5));
      CHECK(close(dx, multiply_plainly(turned(list), weight, dy), accepted(dtype)));
    }
  });
}

TEST_CASE("spmm_coo has the same bits in every run and on any number of threads") {
  // Enough work that several threads take part, rows of very different numbers of entries.
  List star = random_list("star", 3000, 3000, 60001);
  for (size_t e = 0; e < star.row.size(); e += 2) star.row[e] = 1234;
  for (size_t e = 0; e < star.row.size(); e += 5) star.col[e] = 77;
  on_devices({DType::f32, DType::bf16}, [&](Device device, DType dtype) {
    for (int64_t width : {1, 33, 128, 200}) {
      CAPTURE(width);
      const Coo a = star.on(device);
      const Tensor x = random_tensor({3000, width}, dtype, device);
      const Tensor dy = random_tensor({3000, width}, dtype, device);
      const Tensor w = random_tensor({star.entries()}, DType::f32, device);
      Tensor first[3];
      for (const int threads : {1, 1, 2, 5, 16}) {
        CAPTURE(threads);
        const Threads count(threads);
        Tensor y = Tensor::empty_like(dy), dx = Tensor::empty_like(x), dw = Tensor::empty_like(w);
        kernels::spmm_coo({.a = a, .values = w, .x = x, .y = y});
        kernels::spmm_coo_backward({.a = a, .values = w, .dy = dy, .x = x, .dx = dx, .dw = dw});
        if (first[0]) {
          CHECK(same_bits(y, first[0]));
          CHECK(same_bits(dx, first[1]));
          CHECK(same_bits(dw, first[2]));
        }
        first[0] = y, first[1] = dx, first[2] = dw;
      }
    }
  });
}

TEST_CASE("in spmm_coo NaN and infinities reach their rows and no others") {
  const List list{"", 3, 4, {0, 0, 1, 2, 2, 2}, {0, 1, 2, 1, 3, 3}};
  on_devices({DType::f32, DType::bf16}, [&](Device device, DType dtype) {
    const Coo a = list.on(device);
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

TEST_CASE("spmm_coo sums numbers of any size without overflow of its accumulators") {
  // Huge terms that cancel, and tiny ones in the same and in other rows: results are right relative to the
  // largest term.
  const int64_t terms = 4096;
  List list{"", 3, 4, {}, {}};
  for (int64_t e = 0; e < terms; ++e) {
    list.row.push_back(0), list.col.push_back(static_cast<int32_t>(e % 2));  // +1e30, -1e30
    list.row.push_back(1), list.col.push_back(0);                            // +1e30
    list.row.push_back(2), list.col.push_back(2);                            // 1e-30
  }
  for (Device device : devices()) {
    const Coo a = list.on(device);
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
      // Weights as large: sums beyond float32 are infinite, those of products that are small exact.
      const Tensor w = Tensor::full({3 * terms}, 1e30, DType::f32, device);
      CHECK(std::isinf(values(multiplied(a, w, x))[uz(width)]));
    }
    // All as large as float32 has them.
    const Tensor most = Tensor::full({4, 4}, std::numeric_limits<float>::max(), DType::f32, device);
    const Tensor quarter =
        Tensor::full({3 * terms}, 1.0 / static_cast<double>(4 * terms), DType::f32, device);
    for (double sum : values(multiplied(a, quarter, most)))
      CHECK(sum == doctest::Approx(static_cast<double>(std::numeric_limits<float>::max()) / 4).epsilon(1e-4));
  }
}

TEST_CASE("spmm_coo on views that begin anywhere") {
  for (Device device : devices()) {
    const List list = random_list("", 30, 31, 200);
    const Coo a = list.on(device);
    const Tensor all = random_tensor({32 * 4 + 1}, DType::f32, device);
    const Tensor x = all.rows(1, 1 + 31 * 4).reshape({31, 4});
    CHECK(close(multiplied(a, {}, x), multiply_plainly(list, {}, x), 2e-5));
  }
}

TEST_CASE("float atomics, if asked for, give nearly the same sums") {
  for_cases([](const List& list, Device device, DType dtype, int64_t width) {
    if (dtype == DType::f64) return;
    const Tensor x = random_tensor({list.cols, width}, dtype, device);
    const Tensor w = random_tensor({list.entries()}, DType::f32, device);
    const Tensor y = multiplied(list.on(device), w, x, kernels::ScatterSums::float_atomics_not_reproducible);
    CHECK(close(y, multiply_plainly(list, w, x), dtype == DType::bf16 ? 8e-3 : 2e-4));
  });
}

TEST_CASE("spmm_coo refuses what does not fit") {
  for (Device device : devices()) {
    const List list = random_list("", 5, 4, 10);
    const Coo a = list.on(device);
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
                    "float64 is not summed in fixed point");
  }
}
