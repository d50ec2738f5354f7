#include "../reference/plain.h"
#include "../structures.h"
#include "cases.h"
#include <adjoint/kernels/aggregate/gine_sum.h>

using namespace adj;
using namespace adj::test;

namespace {

struct Case {
  Edges edges;
  Tensor x, e, w = {};

  Tensor forward() const {
    Tensor y = Tensor::full({edges.rows(), x.size(1)}, 7.0, x.dtype(), x.device());
    kernels::gine_sum({.a = edges.a(), .x = x, .e = e, .w = w, .y = y});
    return y;
  }
  /// dx, and de and dw if wanted; rows are sources.
  std::vector<Tensor> backward(const Tensor& dy, bool want_e, bool want_w) const {
    const auto room = [&](const Tensor& like, DType dtype) {
      return Tensor::full(like.shape(), 7.0, dtype, x.device());
    };
    const DType accumulator = accumulator_dtype(x.dtype());
    std::vector<Tensor> g{room(x, x.dtype()), want_e ? room(e, accumulator) : Tensor(),
                          want_w ? room(w, accumulator) : Tensor()};
    kernels::gine_sum_backward(
        {.at = edges.a(), .dy = dy, .x = x, .e = e, .w = w, .dx = g[0], .de = g[1], .dw = g[2]});
    return g;
  }
};

/// z of every entry, with `row_is_source` over the transposed structure; then f(row, col, edge, z).
template <class F>
void each_message(const Case& c, bool row_is_source, F&& f) {
  const Dense x(c.x), e(c.e), mapped = c.w ? e * Dense(c.w) : e;
  Numbers z(uz(x.cols));
  c.edges.each([&](size_t row, size_t col, size_t entry) {
    const auto i = static_cast<int64_t>(row), j = static_cast<int64_t>(col), k = static_cast<int64_t>(entry);
    for (int64_t v = 0; v < x.cols; ++v) z[uz(v)] = x(row_is_source ? i : j, v) + mapped(k, v);
    f(i, j, k, z);
  });
}

/// x has a row per source, which are the structure's columns, or its rows in a backward pass.
Case drawn(const std::vector<int64_t>& lengths, int64_t cols, bool backward, int64_t width,
           int64_t edge_width, bool mapped, bool ordered, DType dtype, Device device) {
  const Edges edges(random_structure(lengths, cols, device), ordered);
  Case c{edges, random_tensor({backward ? edges.rows() : cols, width}, dtype, device),
         random_tensor({edges.count(), mapped ? edge_width : width}, dtype, device)};
  if (mapped) c.w = random_tensor({edge_width, width}, dtype, device);
  return c;
}

double allowed(DType dtype) { return dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 2e-5 : 0.02; }

/// The sums of relu(z) by row.
Numbers sum_plainly(const Case& c) {
  Dense y(c.edges.rows(), c.x.size(1));
  each_message(c, false, [&](int64_t i, int64_t, int64_t, const Numbers& z) {
    for (int64_t v = 0; v < y.cols; ++v) y(i, v) += std::max(z[uz(v)], 0.0);
  });
  return y.data;
}

/// Calls f(case, mapped, dtype, device), for edge features, plain and mapped.
template <class F>
void for_cases(bool backward, F f) {
  on_devices_and_features([&](Device device, DType dtype) {
    for (const auto& [features, edge] : std::initializer_list<std::pair<int64_t, int64_t>>{
             {1, 1}, {3, 2}, {8, 8}, {32, 3}, {33, 4}, {64, 1}, {160, 5}, {20, 17}})
      for (bool mapped : {true, false})
        for (bool ordered : {true, false}) {
          CAPTURES(features, edge, mapped, ordered);
          f(drawn({0, 3, 0, 1, 70, 9, 0, 0, 40}, 13, backward, features, edge, mapped, ordered, dtype,
                  device),
            mapped, dtype, device);
        }
  });
}

}  // namespace

TEST_CASE("gine_sum equals plain loops") {
  for_cases(false, [](const Case& c, bool, DType dtype, Device) {
    CHECK(close(c.forward(), sum_plainly(c), allowed(dtype)));
  });
}

TEST_CASE("gine_sum_backward equals plain loops") {
  for_cases(true, [](const Case& c, bool mapped, DType dtype, Device device) {
    const Tensor dy = random_tensor({13, c.x.size(1)}, dtype, device);
    const Dense d(dy), e(c.e), w = mapped ? Dense(c.w) : Dense(0, 0);
    Dense dx(c.edges.rows(), d.cols), de(e.rows, e.cols), dw(e.cols, d.cols);
    each_message(c, true, [&](int64_t j, int64_t i, int64_t edge, const Numbers& z) {
      for (int64_t v = 0; v < d.cols; ++v) {
        if (z[uz(v)] <= 0.0) continue;
        dx(j, v) += d(i, v);
        if (!mapped) de(edge, v) = d(i, v);
        for (int64_t k = 0; mapped && k < e.cols; ++k) {
          de(edge, k) += w(k, v) * d(i, v);
          dw(k, v) += e(edge, k) * d(i, v);
        }
      }
    });
    // With both gradients of edge operands, with one, with none.
    for (int wanted = 0; wanted < 4; ++wanted) {
      CAPTURE(wanted);
      const auto got = c.backward(dy, wanted & 1, mapped && (wanted & 2));
      CHECK(close(got[0], dx.data, allowed(dtype)));
      if (got[1]) CHECK(close(got[1], de.data, 10 * allowed(DType::f32)));
      if (got[2]) CHECK(close(got[2], dw.data, 10 * allowed(DType::f32)));
    }
  });
}

TEST_CASE("gine_sum handles rows of every length, with the same bits in every run") {
  for (Device device : devices()) {
    std::vector<int64_t> lengths = lengths_at_boundaries();
    lengths.push_back(20000);  // split into parts on both devices
    const Case c = drawn(lengths, 97, false, 12, 3, true, true, DType::f32, device);
    Case turned = c;
    turned.x = random_tensor({c.edges.rows(), 12}, DType::f32, device);
    CHECK(close(c.forward(), sum_plainly(c), 1e-4));
    CHECK(same_bits_on_any_threads(
        [&] {
          std::vector<Tensor> all = turned.backward(c.x, true, true);
          all.push_back(c.forward());
          return all;
        },
        {1, 2, 5}));
  }
}

TEST_CASE("gine_sum without edges gives zeros") {
  for (Device device : devices()) {
    const Case c = drawn({0, 0, 0}, 4, false, 5, 2, true, false, DType::f32, device);
    const Tensor y = c.forward();
    CHECK(same_bits(y, Tensor::zeros_like(y)));
    Case turned = c;
    turned.x = y;
    const auto g = turned.backward(c.x, false, true);
    for (const Tensor& zeros : {g[0], g[2]}) CHECK(same_bits(zeros, Tensor::zeros_like(zeros)));
  }
}

TEST_CASE("gine_sum rejects mismatched arguments, naming them") {
  const Csr csr = random_structure({0, 2, 1}, 4).csr;
  const Tensor x = Tensor::zeros({4, 5}), e = Tensor::zeros({3, 2}), w = Tensor::zeros({2, 5});
  Tensor y = Tensor::zeros({3, 5});
  const auto sum = [&](const Tensor& features, const Tensor& edges, const Tensor& map, Tensor& out) {
    kernels::gine_sum({.a = {csr, {}, {}}, .x = features, .e = edges, .w = map, .y = out});
  };
  CHECK_NOTHROW(sum(x, e, w, y));
  CHECK_ERROR_HAS(sum(Tensor::zeros({3, 5}), e, w, y), "[3, 5]");
  CHECK_ERROR_HAS(sum(x, Tensor::zeros({4, 2}), w, y), "[4, 2]");
  CHECK_ERROR_HAS(sum(x, e, {}, y), "equal widths");
  CHECK_ERROR_HAS(sum(x, e, Tensor::zeros({2, 4}), y), "[2, 4]");
  Tensor narrow = Tensor::zeros({3, 4});
  CHECK_ERROR_HAS(sum(x, e, w, narrow), "[3, 4]");
}
