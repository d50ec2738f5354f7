#include "../structures.h"
#include "cases.h"
#include <adjoint/core/capture.h>
#include <adjoint/kernels/aggregate/spmm.h>

#include <numeric>
#include <random>

using namespace adj;
using namespace adj::test;

namespace {

struct Matrix : HostCsr {
  std::vector<int32_t> order;  ///< a permutation of the entries
};

/// A matrix with the given row lengths, columns ascending, duplicates allowed.
Matrix matrix_of(const std::vector<int64_t>& lengths, int64_t cols, Device device) {
  const auto row = [&](size_t i) {
    return random_ints(lengths[i], 0, static_cast<int32_t>(cols)).to_vector<int32_t>();
  };
  Matrix m{structure_of(std::ssize(lengths), cols, row, device), {}};
  m.order.resize(m.indices.size());
  std::iota(m.order.begin(), m.order.end(), 0);
  std::shuffle(m.order.begin(), m.order.end(), std::mt19937(7));
  return m;
}

/// Short rows, empty ones among them; two rows that are cut into pieces, the last of them without a
/// neighbour.
Matrix skewed(Device device) {
  std::vector<int64_t> lengths(300);
  for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<int64_t>(i * i % 13);
  lengths[17] = 13001;
  lengths[120] = 700;
  lengths.back() = 9000;
  return matrix_of(lengths, 211, device);
}

Matrix small(Device device) { return matrix_of({3, 0, 1, 17, 0, 5, 2}, 9, device); }

enum class Values { none, direct, ordered };

struct Case {
  const Matrix& m;
  Values kind;
  Tensor value;

  Case(const Matrix& matrix, Values which, DType dtype)
      : m(matrix),
        kind(which),
        value(which == Values::none ? Tensor{}
                                    : random_tensor({matrix.csr.entries()}, dtype, matrix.csr.device())) {}
  CsrMatrix a() const {
    return {m.csr, value, kind == Values::ordered ? Tensor::from(m.order, m.csr.device()) : Tensor{}};
  }
  Tensor random_x(int64_t width, DType dtype) const {
    return random_tensor({m.csr.cols, width}, dtype, m.csr.device());
  }
  Tensor random_y(int64_t width, DType dtype) const {
    return random_tensor({m.csr.rows, width}, dtype, m.csr.device());
  }
  Tensor random_values() const { return random_tensor({m.csr.entries()}, value.dtype(), m.csr.device()); }
  /// f(row, column, slot) for every entry.
  template <class F>
  void each(F f) const {
    for (size_t i = 0; i < uz(m.csr.rows); ++i)
      for (auto e = m.offsets[i]; e < m.offsets[i + 1]; ++e) f(i, uz(m.indices[uz(e)]), slot(e));
  }
  size_t slot(int64_t e) const { return uz(kind == Values::ordered ? m.order[uz(e)] : e); }
};

Numbers multiply_plainly(const Case& c, const Tensor& x) {
  const Numbers w = c.value ? values(c.value) : Numbers(c.m.indices.size(), 1.0), X = values(x);
  const size_t width = uz(x.size(1));
  Numbers y(uz(c.m.csr.rows) * width);
  c.each([&](size_t i, size_t j, size_t k) {
    for (size_t f = 0; f < width; ++f) y[i * width + f] += w[k] * X[j * width + f];
  });
  return y;
}

/// ⟨y_i, x_j⟩ at the slot of every entry.
Numbers dot_plainly(const Case& c, const Tensor& y, const Tensor& x) {
  const Numbers Y = values(y), X = values(x);
  const size_t width = uz(x.size(1));
  Numbers dw(c.m.indices.size());
  c.each([&](size_t i, size_t j, size_t k) {
    for (size_t f = 0; f < width; ++f) dw[k] += Y[i * width + f] * X[j * width + f];
  });
  return dw;
}

/// Relative to the largest sum, in which tens of thousands of terms may have cancelled.
double allowed(DType dtype) { return dtype == DType::f64 ? 1e-12 : dtype == DType::bf16 ? 8e-3 : 2e-4; }

const std::vector<int64_t> kWidths{0, 1, 2, 3, 7, 8, 15, 16, 17, 40, 64, 100, 128, 129, 256, 300};

/// Calls f(case, dtype, width) over matrices, kinds of values, dtypes and widths.
template <class F>
void for_cases(F&& f) {
  on_devices_and_features([&](Device device, DType dtype) {
    const Matrix matrices[] = {small(device), skewed(device), matrix_of({0, 0, 0}, 4, device),
                               matrix_of({}, 3, device)};
    for (const Matrix& m : matrices)
      for (Values kind : {Values::none, Values::direct, Values::ordered}) {
        const Case c(m, kind, accumulator_dtype(dtype));
        for (int64_t width : kWidths) {
          if (m.csr.rows == 300 && width > 20 && kind == Values::direct && width != 128) continue;
          CAPTURES(m.csr.rows, static_cast<int>(kind), width);
          f(c, dtype, width);
        }
      }
  });
}

}  // namespace

TEST_CASE("spmm equals the plain sum over entries") {
  for_cases([](const Case& c, DType dtype, int64_t width) {
    const Tensor x = c.random_x(width, dtype);
    Tensor y = c.random_y(width, dtype);
    kernels::spmm({.a = c.a(), .x = x, .y = y});
    CHECK(close(y, multiply_plainly(c, x), allowed(dtype)));
  });
}

TEST_CASE("sparse products of rows of every length at which another method might be chosen") {
  on_devices_and_features([](Device device, DType dtype) {
    const Matrix m = matrix_of(lengths_at_boundaries(), 97, device);
    for (int64_t width : {1, 16, 72, 130}) {
      CAPTURE(width);
      const Case c(m, Values::ordered, accumulator_dtype(dtype));
      const Tensor x = c.random_x(width, dtype), dy = c.random_y(width, dtype);
      Tensor y = c.random_y(width, dtype), weights = Tensor::empty_like(c.value);
      kernels::spmm({.a = c.a(), .x = x, .y = y});
      CHECK(close(y, multiply_plainly(c, x), allowed(dtype)));
      kernels::sddmm({.a = c.a(), .y = dy, .x = x, .dw = weights});
      CHECK(close(weights, dot_plainly(c, dy, x), allowed(dtype)));
    }
  });
}

TEST_CASE("spmm adds the bias and applies the activation") {
  on_devices_and_features([](Device device, DType dtype) {
    const Matrix matrices[] = {small(device), skewed(device)};
    for (const Matrix& m : matrices)
      for (Activation activation : {Activation::none, Activation::relu}) {
        CAPTURE(name_of(activation));
        constexpr int64_t kWidth = 37;
        const Case c(m, Values::direct, accumulator_dtype(dtype));
        const Tensor x = c.random_x(kWidth, dtype), bias = random_tensor({kWidth}, dtype, device);
        Tensor y = c.random_y(kWidth, dtype);
        kernels::spmm({.a = c.a(), .x = x, .bias = bias, .activation = activation, .y = y});
        Numbers expected = multiply_plainly(c, x);
        const Numbers b = values(bias);
        for (size_t k = 0; k < expected.size(); ++k) {
          expected[k] += b[k % kWidth];
          if (activation == Activation::relu) expected[k] = std::max(expected[k], 0.0);
        }
        CHECK(close(y, expected, std::max(allowed(dtype), 1e-7)));
      }
  });
}

TEST_CASE("spmm fuses no activation but relu") {
  const Matrix m = small(Device::cpu());
  const Case c(m, Values::none, DType::f32);
  const Tensor x = random_tensor({m.csr.cols, 3});
  Tensor y = Tensor::empty({m.csr.rows, 3});
  CHECK_ERROR(kernels::spmm({.a = c.a(), .x = x, .activation = Activation::elu, .y = y}),
              "spmm: activation elu, expected none or relu");
}

TEST_CASE("sddmm gives every entry its dot product, and spmm_backward both gradients") {
  for_cases([](const Case& c, DType dtype, int64_t width) {
    if (c.kind == Values::none) return;
    const Tensor y = c.random_y(width, dtype), x = c.random_x(width, dtype);
    Tensor dots = c.random_values(), dx = c.random_y(width, dtype), dw = c.random_values();
    const Numbers expected = dot_plainly(c, y, x);
    const double bound = c.value.dtype() == DType::f64 ? 1e-12 : 1e-5;
    kernels::sddmm({.a = c.a(), .y = y, .x = x, .dw = dots});
    CHECK(close(dots, expected, bound));
    // c is the transposed matrix: x is its dy, and y its x.
    kernels::spmm_backward({.at = c.a(), .dy = x, .x = y, .dx = dx, .dw = dw});
    CHECK(close(dx, multiply_plainly(c, x), allowed(dtype)));
    CHECK(close(dw, expected, bound));
  });
}

TEST_CASE("results larger than the caches, at any address") {
  for (Device device : devices()) {
    std::vector<int64_t> lengths(66000);
    for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<int64_t>(i % 3);
    const Matrix m = matrix_of(lengths, 50, device);
    for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      CAPTURE(name_of(dtype));
      const int64_t width = dtype == DType::bf16 ? 256 : 128;
      const Case c(m, Values::direct, accumulator_dtype(dtype));
      const Tensor x = random_tensor({m.csr.cols, width}, dtype, device);
      const Numbers expected = multiply_plainly(c, x);
      const int64_t elements = m.csr.rows * width;
      for (int64_t offset : {0, 1}) {
        const Tensor room = Tensor::full({elements + 1}, NAN, dtype, device);
        Tensor y = room.rows(offset, offset + elements).reshape({m.csr.rows, width});
        kernels::spmm({.a = c.a(), .x = x, .y = y});
        CHECK(close(y, expected, allowed(dtype)));
      }
    }
  }
}

TEST_CASE("results larger than the caches whose rows are not whole vectors") {
  for (Device device : devices()) {
    std::vector<int64_t> lengths(300000);
    for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<int64_t>(i % 2);
    const Matrix m = matrix_of(lengths, 50, device);
    for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      CAPTURE(name_of(dtype));
      const int64_t width = dtype == DType::f32 ? 33 : dtype == DType::f64 ? 17 : 66;
      const Case c(m, Values::direct, accumulator_dtype(dtype));
      const Tensor x = random_tensor({m.csr.cols, width}, dtype, device);
      Tensor y = Tensor::full({m.csr.rows, width}, NAN, dtype, device);
      kernels::spmm({.a = c.a(), .x = x, .y = y});
      CHECK(close(y, multiply_plainly(c, x), allowed(dtype)));
    }
  }
}

TEST_CASE("sparse products have the same bits on 1, 2 and 4 threads") {
  for (Device device : devices()) {
    const Matrix m = skewed(device);
    for (DType dtype : {DType::f32, DType::f64, DType::bf16})
      for (int64_t width : {5, 128, 200}) {
        const Case c(m, Values::ordered, accumulator_dtype(dtype));
        const Tensor x = random_tensor({m.csr.cols, width}, dtype, device);
        const Tensor y = random_tensor({m.csr.rows, width}, dtype, device);
        Tensor first[4];
        for (int threads : {1, 2, 4}) {
          const Threads scope(threads);
          Tensor product = Tensor::empty({m.csr.rows, width}, dtype, device);
          Tensor dot = Tensor::empty({m.csr.entries()}, accumulator_dtype(dtype), device);
          Tensor dx = Tensor::empty({m.csr.rows, width}, dtype, device);
          Tensor dw = Tensor::empty({m.csr.entries()}, accumulator_dtype(dtype), device);
          kernels::spmm({.a = c.a(), .x = x, .y = product});
          kernels::sddmm({.a = c.a(), .y = y, .x = x, .dw = dot});
          kernels::spmm_backward({.at = c.a(), .dy = x, .x = y, .dx = dx, .dw = dw});
          const Tensor now[] = {product, dot, dx, dw};
          for (int k = 0; k < 4; ++k) {
            if (threads == 1) first[k] = now[k];
            CHECK(same_bits(first[k], now[k]));
          }
        }
      }
  }
}

TEST_CASE("spmm of very heavy rows, wide rows and rows at any address") {
  for (Device device : devices()) {
    std::vector<int64_t> lengths(40, 3);
    lengths[0] = 0;
    lengths[1] = 100000;
    lengths[38] = 33;
    lengths[39] = 0;
    const Matrix m = matrix_of(lengths, 1000, device);
    for (DType dtype : {DType::f32, DType::f64, DType::bf16})
      for (int64_t width : {4, 33, 512, 1000}) {
        CAPTURES(name_of(dtype), width);
        const Case c(m, Values::ordered, accumulator_dtype(dtype));
        // One element into an allocation: aligned for nothing wider than an element.
        const Tensor x = random_tensor({m.csr.cols * width + 1}, dtype, device)
                             .rows(1, m.csr.cols * width + 1)
                             .reshape({m.csr.cols, width});
        Tensor aligned = Tensor::empty({m.csr.rows, width}, dtype, device);
        Tensor shifted = Tensor::empty({m.csr.rows * width + 1}, dtype, device)
                             .rows(1, m.csr.rows * width + 1)
                             .reshape({m.csr.rows, width});
        kernels::spmm({.a = c.a(), .x = x.clone(), .y = aligned});
        kernels::spmm({.a = c.a(), .x = x, .y = shifted});
        CHECK(close(aligned, multiply_plainly(c, x), allowed(dtype)));
        CHECK(same_bits(aligned, shifted));
      }
  }
}

TEST_CASE("spmm has the same bits however often it is called") {
  // On a GPU the exact plan replaces its bounds after some calls.
  for (Device device : devices()) {
    std::vector<int64_t> lengths(2000);
    for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<int64_t>(i % 61);
    lengths[7] = 5000;
    lengths[1500] = 50000;
    const Matrix m = matrix_of(lengths, 2000, device);
    for (DType dtype : {DType::f32, DType::bf16})
      for (int64_t width : {100, 512}) {
        CAPTURES(name_of(dtype), width);
        const Case c(m, Values::direct, accumulator_dtype(dtype));
        const Tensor x = random_tensor({m.csr.cols, width}, dtype, device);
        const Tensor bias = random_tensor({width}, dtype, device);
        Tensor first = Tensor::empty({m.csr.rows, width}, dtype, device);
        kernels::spmm({.a = c.a(), .x = x, .bias = bias, .activation = Activation::relu, .y = first});
        for (int call = 0; call < (device.is_cpu() ? 3 : 20); ++call) {
          Tensor again = random_tensor({m.csr.rows, width}, dtype, device);
          kernels::spmm({.a = c.a(), .x = x, .bias = bias, .activation = Activation::relu, .y = again});
          CHECK(same_bits(first, again));
        }
      }
  }
}

TEST_CASE("spmm has the same bits captured, and on another stream, whatever was kept of its structure") {
  for (Device device : devices()) {
    if (!StepGraph::supported(device)) continue;
    const Stream other = Stream::make(device);
    for (const auto& [uses, rows] :
         {std::pair<int, int64_t>{0, 3000}, {1, 3000}, {5, 3000}, {30, 3000}, {1, 9000}, {30, 9000}}) {
      CAPTURES(uses, rows);
      std::vector<int64_t> lengths(uz(rows), 20);
      lengths[77] = 4000;
      const Matrix m = matrix_of(lengths, rows, device);
      const Case c(m, Values::direct, DType::f32);
      const Tensor x = random_tensor({rows, 64}, DType::f32, device);
      Tensor first = Tensor::empty({rows, 64}, DType::f32, device), second = Tensor::empty_like(first),
             third = Tensor::empty_like(first);
      {
        Csr apart = m.csr;
        apart.cache = std::make_shared<KeyedCache>();
        kernels::spmm({.a = {apart, c.a().values, c.a().order}, .x = x, .y = first});
      }
      for (int i = 0; i < uses; ++i) kernels::spmm({.a = c.a(), .x = x, .y = second});
      if (uses > 0) CHECK(same_bits(first, second));
      other.wait(Stream::current(device));
      {
        const StreamScope scope(other);
        kernels::spmm({.a = c.a(), .x = x, .y = third});
        other.synchronize();
      }
      CHECK(same_bits(first, third));
      StepGraph step;
      step.begin(device);
      kernels::spmm({.a = c.a(), .x = x, .y = second});
      kernels::spmm({.a = c.a(), .x = x, .y = third});
      step.end();
      second.zero_();
      third.zero_();
      step.replay();
      CHECK(same_bits(first, second));
      CHECK(same_bits(first, third));
    }
  }
}

TEST_CASE("spmm passes on NaN") {
  for (Device device : devices()) {
    Csr csr{1, 2, Tensor::from<int64_t>({0, 2}, device), Tensor::from<int32_t>({0, 1}, device)};
    const Tensor x = Tensor::from<float>({1.0f, NAN}, {2, 1}, device);
    Tensor y = Tensor::empty({1, 1}, DType::f32, device);
    kernels::spmm({.a = {csr, {}, {}}, .x = x, .activation = Activation::relu, .y = y});
    CHECK(std::isnan(y.item()));
  }
}

TEST_CASE("spmm names what does not fit") {
  const Matrix m = small(Device::cpu());
  const Tensor x = random_tensor({9, 4});
  Tensor y = Tensor::empty({7, 4});
  const auto spmm = [&](const Tensor& value, const Tensor& in, const Tensor& bias, Tensor& out) {
    kernels::spmm({.a = {m.csr, value, {}}, .x = in, .bias = bias, .y = out});
  };
  CHECK_ERROR_HAS(spmm({}, random_tensor({8, 4}), {}, y), "x is [8, 4] float32 on cpu");
  CHECK_THROWS_AS(spmm(random_tensor({5}), x, {}, y), Error);
  CHECK_THROWS_AS(spmm({}, x, random_tensor({5}), y), Error);
  Tensor narrow = Tensor::empty({7, 3});
  CHECK_THROWS_AS(spmm({}, x, {}, narrow), Error);
  CHECK_THROWS_AS(spmm({}, random_ints(36, 0, 5).reshape({9, 4}), {}, y), Error);
  Tensor dw = Tensor::empty({m.csr.entries() - 1});
  CHECK_THROWS_AS(kernels::sddmm({.a = {m.csr, {}, {}}, .y = y, .x = x, .dw = dw}), Error);
  // Surplus values belong to no entry, unless an order says which.
  const int64_t entries = m.csr.entries();
  const Tensor surplus = random_tensor({entries + 1}), order = random_ints(entries, 0, 3);
  CHECK_ERROR_HAS(spmm(surplus, x, {}, y), "values is");
  kernels::spmm({.a = {m.csr, surplus, order}, .x = x, .y = y});
  Tensor many = Tensor::empty({entries + 1});
  CHECK_THROWS_AS(kernels::sddmm({.a = {m.csr, {}, {}}, .y = y, .x = x, .dw = many}), Error);
  Tensor sums = Tensor::empty({m.csr.rows});
  CHECK_THROWS_AS(kernels::row_sums({.a = {m.csr, surplus, {}}, .y = sums}), Error);
}

TEST_CASE("sparse products refuse outputs that are their inputs") {
  for (Device device : devices()) {
    const Matrix m = matrix_of({1, 0, 2, 3}, 4, device);
    Tensor x = random_tensor({4, 3}, DType::f32, device), y = Tensor::empty_like(x),
           dw = Tensor::empty({m.csr.entries()}, DType::f32, device);
    const Tensor both = random_tensor({8, 3}, DType::f32, device);
    Tensor half = both.rows(4, 8);
    CHECK_ERROR(kernels::spmm({.a = {m.csr, {}, {}}, .x = x, .y = x}), "spmm: y cannot be x");
    CHECK_THROWS_AS(kernels::spmm({.a = {m.csr, {}, {}}, .x = both.rows(0, 4), .y = half}), Error);
    const auto backward = [&](const Tensor& dy, const Tensor& in, Tensor& dx) {
      kernels::spmm_backward({.at = {m.csr, {}, {}}, .dy = dy, .x = in, .dx = dx, .dw = dw});
    };
    backward(both.rows(0, 4), x, y);
    CHECK_ERROR(backward(y, x, y), "spmm_backward: dx cannot be dy");
    CHECK_ERROR(backward(x, y, y), "spmm_backward: dx cannot be x");
  }
}

TEST_CASE("normalisations refuse to write over values that are read in another order") {
  for (Device device : devices()) {
    const Matrix m = matrix_of({1, 2, 1, 2}, 4, device);
    Tensor values = Tensor::full({6}, 2.0, DType::f32, device),
           degree = Tensor::empty({4}, DType::f32, device);
    const Tensor order = Tensor::from<int32_t>({5, 4, 3, 2, 1, 0}, device);
    CHECK_ERROR_HAS(
        kernels::gcn_normalize({.a = {m.csr, values, order}, .degree = degree, .weights = values}),
        "weights cannot be the values");
    CHECK_ERROR_HAS(kernels::row_normalize_entries({.a = {m.csr, values, order}, .weights = values}),
                    "weights cannot be the values");
    kernels::row_normalize_entries({.a = {m.csr, values, {}}, .weights = values});
    CHECK(close(values, {1, 0.5, 0.5, 1, 0.5, 0.5}, 1e-6));
  }
}
