#include "../reference/plain.h"
#include "../structures.h"
#include "cases.h"
#include <adjoint/kernels/aggregate/gine_sum.h>

using namespace adj;
using namespace adj::test;

namespace {

/// Rows of these lengths over `cols` columns, with parallel entries; row 0 has none.
Csr structure(const std::vector<int64_t>& lengths, int64_t cols) {
  uint32_t state = 7;
  const auto row = [&](size_t i) {
    std::vector<int32_t> columns;
    for (int64_t k = 0; i > 0 && k < lengths[i - 1]; ++k) {
      state = state * 1664525u + 1013904223u;
      columns.push_back(static_cast<int32_t>((state >> 8) % static_cast<uint32_t>(cols)));
    }
    return columns;
  };
  return structure_of(std::ssize(lengths) + 1, cols, row).csr;
}

struct Case {
  Csr csr;
  Tensor order, x, e, w;

  Case to(Device device) const {
    return {csr.to(device), order.to(device), x.to(device), e.to(device), w.to(device)};
  }
  Tensor forward() const {
    Tensor y = Tensor::full({csr.rows, x.size(1)}, 7.0, x.dtype(), x.device());
    kernels::gine_sum({.a = {csr, {}, order}, .x = x, .e = e, .w = w, .y = y});
    return y;
  }
  /// dx, and de and dw where they are wanted.
  std::vector<Tensor> backward(const Tensor& dy, bool want_e, bool want_w) const {
    const auto room = [&](const Tensor& like, DType dtype) {
      return Tensor::full(like.shape(), 7.0, dtype, x.device());
    };
    const DType wide = accumulator_dtype(x.dtype());
    std::vector<Tensor> g{room(x, x.dtype()), want_e ? room(e, wide) : Tensor(),
                          want_w ? room(w, wide) : Tensor()};
    kernels::gine_sum_backward(
        {.at = {csr, {}, order}, .dy = dy, .x = x, .e = e, .w = w, .dx = g[0], .de = g[1], .dw = g[2]});
    return g;
  }
};

/// z of every entry, with `row_is_source` over the transposed structure; then f(row, col, edge, z).
template <class F>
void each_message(const Case& c, bool row_is_source, F&& f) {
  const auto offsets = c.csr.offsets.to_vector<int64_t>();
  const auto indices = c.csr.indices.to_vector<int32_t>();
  const auto order = c.order ? c.order.to_vector<int32_t>() : std::vector<int32_t>();
  const Dense x(c.x), e(c.e);
  const Dense w = c.w ? Dense(c.w) : Dense(0, 0);
  const int64_t width = x.cols;
  Numbers z(uz(width));
  for (int64_t i = 0; i < c.csr.rows; ++i)
    for (int64_t k = offsets[uz(i)]; k < offsets[uz(i) + 1]; ++k) {
      const int64_t col = indices[uz(k)];
      const int64_t edge = order.empty() ? k : order[uz(k)];
      for (int64_t v = 0; v < width; ++v) {
        double sum = x(row_is_source ? i : col, v);
        if (c.w) {
          for (int64_t d = 0; d < e.cols; ++d) sum += e(edge, d) * w(d, v);
        } else {
          sum += e(edge, v);
        }
        z[uz(v)] = sum;
      }
      f(i, col, edge, z);
    }
}

Tensor shuffled(int64_t n) {
  std::vector<int32_t> order(uz(n));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t k = 0; k + 1 < n; k += 2) std::swap(order[uz(k)], order[uz(k + 1)]);
  return Tensor::from(order);
}

Case drawn(const std::vector<int64_t>& lengths, int64_t cols, int64_t x_rows, int64_t width,
           int64_t edge_width, bool mapped, bool ordered, DType dtype) {
  Case c;
  c.csr = structure(lengths, cols);
  if (ordered) c.order = shuffled(c.csr.entries());
  c.x = random_tensor({x_rows < 0 ? c.csr.rows : x_rows, width}, dtype);
  c.e = random_tensor({c.csr.entries(), mapped ? edge_width : width}, dtype);
  if (mapped) c.w = random_tensor({edge_width, width}, dtype);
  return c;
}

double allowed(DType dtype) { return dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 2e-5 : 0.02; }

/// The sums of relu(z) by row.
Numbers sum_plainly(const Case& c) {
  Dense y(c.csr.rows, c.x.size(1));
  each_message(c, false, [&](int64_t i, int64_t, int64_t, const Numbers& z) {
    for (int64_t v = 0; v < y.cols; ++v) y(i, v) += std::max(z[uz(v)], 0.0);
  });
  return y.data;
}

/// Calls f(case, mapped, dtype, device), for features of edges as they are and mapped; x has x_rows rows, of
/// each entry's row where x_rows is negative.
template <class F>
void for_cases(int64_t x_rows, F f) {
  on_devices_and_features([&](Device device, DType dtype) {
    for (const auto& [features, edge] : std::initializer_list<std::pair<int64_t, int64_t>>{
             {1, 1}, {3, 2}, {8, 8}, {32, 3}, {33, 4}, {64, 1}, {160, 5}, {20, 17}})
      for (bool mapped : {true, false})
        for (bool ordered : {true, false}) {
          CAPTURES(features, edge, mapped, ordered);
          f(drawn({3, 0, 1, 70, 9, 0, 0, 40}, 13, x_rows, features, edge, mapped, ordered, dtype), mapped,
            dtype, device);
        }
  });
}

}  // namespace

TEST_CASE("gine_sum equals plain loops") {
  for_cases(13, [](const Case& c, bool, DType dtype, Device device) {
    CHECK(close(c.to(device).forward(), sum_plainly(c), allowed(dtype)));
  });
}

TEST_CASE("gine_sum_backward equals plain loops") {
  for_cases(-1, [](const Case& c, bool mapped, DType dtype, Device device) {
    const Tensor dy = random_tensor({13, c.x.size(1)}, dtype);
    const Dense d(dy), e(c.e), w = mapped ? Dense(c.w) : Dense(0, 0);
    Dense dx(c.csr.rows, d.cols), de(e.rows, e.cols), dw(e.cols, d.cols);
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
    // With both gradients of what edges bring, with one, with none.
    const Case there = c.to(device);
    for (int wanted = 0; wanted < 4; ++wanted) {
      CAPTURE(wanted);
      const auto got = there.backward(dy.to(device), wanted & 1, mapped && (wanted & 2));
      CHECK(close(got[0], dx.data, allowed(dtype)));
      if (got[1]) CHECK(close(got[1], de.data, 10 * allowed(DType::f32)));
      if (got[2]) CHECK(close(got[2], dw.data, 10 * allowed(DType::f32)));
    }
  });
}

TEST_CASE("gine_sum takes rows of every length, and adds them up the same way in every run") {
  for (Device device : devices()) {
    std::vector<int64_t> lengths = lengths_at_boundaries();
    lengths.push_back(20000);  // cut into pieces on either device
    const Case c = drawn(lengths, 97, 97, 12, 3, true, true, DType::f32), there = c.to(device);
    Case turned = there;
    turned.x = random_tensor({c.csr.rows, 12}, DType::f32, device);
    const Tensor first = there.forward();
    const auto first_back = turned.backward(there.x, true, true);
    CHECK(close(first, sum_plainly(c), 1e-4));
    for (int threads : {1, 2, 5}) {
      const Threads limit(threads);
      CHECK(same_bits(there.forward(), first));
      const auto again = turned.backward(there.x, true, true);
      for (size_t i = 0; i < 3; ++i) CHECK(same_bits(again[i], first_back[i]));
    }
  }
}

TEST_CASE("gine_sum without edges gives zeros") {
  for (Device device : devices()) {
    const Tensor x = random_tensor({4, 5}), e = Tensor::zeros({0, 2}), w = random_tensor({2, 5});
    const Case c = Case{structure({0, 0}, 4), {}, x, e, w}.to(device);
    const Tensor y = c.forward();
    CHECK(same_bits(y, Tensor::zeros_like(y)));
    Case turned = c;
    turned.x = y;
    const auto g = turned.backward(c.x, false, true);
    for (const Tensor& zeros : {g[0], g[2]}) CHECK(same_bits(zeros, Tensor::zeros_like(zeros)));
  }
}

TEST_CASE("gine_sum refuses what does not fit, naming it") {
  const Csr csr = structure({2, 1}, 4);
  const Tensor x = Tensor::zeros({4, 5}), e = Tensor::zeros({3, 2}), w = Tensor::zeros({2, 5});
  Tensor y = Tensor::zeros({3, 5});
  const auto sum = [&](const Tensor& features, const Tensor& edges, const Tensor& map, Tensor& out) {
    kernels::gine_sum({.a = {csr, {}, {}}, .x = features, .e = edges, .w = map, .y = out});
  };
  CHECK_NOTHROW(sum(x, e, w, y));
  CHECK_ERROR_HAS(sum(Tensor::zeros({3, 5}), e, w, y), "[3, 5]");
  CHECK_ERROR_HAS(sum(x, Tensor::zeros({4, 2}), w, y), "[4, 2]");
  CHECK_ERROR_HAS(sum(x, e, {}, y), "one width");
  CHECK_ERROR_HAS(sum(x, e, Tensor::zeros({2, 4}), y), "[2, 4]");
  Tensor narrow = Tensor::zeros({3, 4});
  CHECK_ERROR_HAS(sum(x, e, w, narrow), "[3, 4]");
}
