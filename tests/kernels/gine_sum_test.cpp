#include "../reference/plain.h"
#include "../structures.h"
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
  std::vector<double> z(uz(width));
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

struct Widths {
  int64_t features, edge;
};

}  // namespace

TEST_CASE("gine_sum equals plain loops") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64, DType::bf16})
      for (const Widths& widths :
           {Widths{1, 1}, {3, 2}, {8, 8}, {32, 3}, {33, 4}, {64, 1}, {160, 5}, {20, 17}})
        for (bool mapped : {true, false})
          for (bool ordered : {true, false}) {
            CAPTURES(name_of(dtype), widths.features, widths.edge, mapped, ordered);
            const Case c = drawn({3, 0, 1, 70, 9, 0, 0, 40}, 13, 13, widths.features, widths.edge, mapped,
                                 ordered, dtype);
            Dense expected(c.csr.rows, widths.features);
            each_message(c, false, [&](int64_t i, int64_t, int64_t, const std::vector<double>& z) {
              for (int64_t v = 0; v < widths.features; ++v) expected(i, v) += std::max(z[uz(v)], 0.0);
            });
            const Csr csr = c.csr.to(device);
            Tensor y = Tensor::full({c.csr.rows, widths.features}, 7.0, dtype, device);
            kernels::gine_sum({.a = {csr, {}, c.order.to(device)},
                               .x = c.x.to(device),
                               .e = c.e.to(device),
                               .w = c.w.to(device),
                               .y = y});
            CHECK(close(y, expected.data, allowed(dtype)));
          }
}

TEST_CASE("gine_sum_backward equals plain loops") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64, DType::bf16})
      for (const Widths& widths :
           {Widths{1, 1}, {3, 2}, {8, 8}, {32, 3}, {33, 4}, {64, 1}, {160, 5}, {20, 17}})
        for (bool mapped : {true, false})
          for (bool ordered : {true, false}) {
            CAPTURES(name_of(dtype), widths.features, widths.edge, mapped, ordered);
            const Case c = drawn({3, 0, 1, 70, 9, 0, 0, 40}, 13, -1, widths.features, widths.edge, mapped,
                                 ordered, dtype);
            const Tensor dy = random_tensor({13, widths.features}, dtype);
            const Dense d(dy), e(c.e);
            Dense dx(c.csr.rows, widths.features), de(e.rows, e.cols), dw(e.cols, widths.features);
            each_message(c, true, [&](int64_t j, int64_t i, int64_t edge, const std::vector<double>& z) {
              for (int64_t v = 0; v < widths.features; ++v) {
                if (z[uz(v)] <= 0.0) continue;
                dx(j, v) += d(i, v);
                if (!mapped) de(edge, v) = d(i, v);
                if (!mapped) continue;
                const Dense w(c.w);
                for (int64_t k = 0; k < e.cols; ++k) {
                  de(edge, k) += w(k, v) * d(i, v);
                  dw(k, v) += e(edge, k) * d(i, v);
                }
              }
            });
            const Csr csr = c.csr.to(device);
            const DType accumulator = accumulator_dtype(dtype);
            const auto filled = [&](const Shape& shape, DType of) {
              return Tensor::full(shape, 7.0, of, device);
            };
            // With both gradients of what edges bring, with one, with none.
            for (int wanted = 0; wanted < 4; ++wanted) {
              CAPTURE(wanted);
              Tensor got = filled(c.x.shape(), dtype);
              const Tensor got_e = wanted & 1 ? filled(c.e.shape(), accumulator) : Tensor();
              const Tensor got_w = mapped && (wanted & 2) ? filled(c.w.shape(), accumulator) : Tensor();
              kernels::gine_sum_backward({.at = {csr, {}, c.order.to(device)},
                                          .dy = dy.to(device),
                                          .x = c.x.to(device),
                                          .e = c.e.to(device),
                                          .w = c.w.to(device),
                                          .dx = got,
                                          .de = got_e,
                                          .dw = got_w});
              CHECK(close(got, dx.data, allowed(dtype)));
              if (got_e) CHECK(close(got_e, de.data, 10 * allowed(DType::f32)));
              if (got_w) CHECK(close(got_w, dw.data, 10 * allowed(DType::f32)));
            }
          }
}

TEST_CASE("gine_sum takes rows of every length, and adds them up the same way in every run") {
  for (Device device : devices()) {
    std::vector<int64_t> lengths = lengths_at_boundaries();
    lengths.push_back(20000);  // cut into pieces on either device
    const int64_t cols = 97, width = 12, edge_width = 3;
    const Case c = drawn(lengths, cols, cols, width, edge_width, true, true, DType::f32);
    Dense expected(c.csr.rows, width);
    each_message(c, false, [&](int64_t i, int64_t, int64_t, const std::vector<double>& z) {
      for (int64_t v = 0; v < width; ++v) expected(i, v) += std::max(z[uz(v)], 0.0);
    });
    const Csr csr = c.csr.to(device);
    const Tensor order_there = c.order.to(device), x_there = c.x.to(device), e_there = c.e.to(device),
                 w_there = c.w.to(device);
    const auto forward = [&] {
      Tensor y = Tensor::empty({csr.rows, width}, DType::f32, device);
      kernels::gine_sum({.a = {csr, {}, order_there}, .x = x_there, .e = e_there, .w = w_there, .y = y});
      return y;
    };
    const Tensor own = random_tensor({csr.rows, width}, DType::f32, device);
    const auto backward = [&] {
      std::vector<Tensor> out{Tensor::empty_like(own), Tensor::empty_like(e_there),
                              Tensor::empty_like(w_there)};
      kernels::gine_sum_backward({.at = {csr, {}, order_there},
                                  .dy = x_there,
                                  .x = own,
                                  .e = e_there,
                                  .w = w_there,
                                  .dx = out[0],
                                  .de = out[1],
                                  .dw = out[2]});
      return out;
    };
    const Tensor first = forward();
    const std::vector<Tensor> first_back = backward();
    CHECK(close(first, expected.data, 1e-4));
    for (int threads : {1, 2, 5}) {
      const Threads limit(threads);
      CHECK(same_bits(forward(), first));
      const std::vector<Tensor> again = backward();
      for (size_t i = 0; i < 3; ++i) CHECK(same_bits(again[i], first_back[i]));
    }
  }
}

TEST_CASE("gine_sum without edges gives zeros") {
  for (Device device : devices()) {
    const Csr csr = structure({0, 0}, 4).to(device);
    Tensor y = Tensor::full({3, 5}, 7.0, DType::f32, device), dx = y.clone();
    const Tensor x = random_tensor({4, 5}, DType::f32, device), e = Tensor::zeros({0, 2}, DType::f32, device);
    const Tensor w = random_tensor({2, 5}, DType::f32, device),
                 dw = Tensor::full({2, 5}, 7.0, DType::f32, device);
    kernels::gine_sum({.a = {csr, {}, {}}, .x = x, .e = e, .w = w, .y = y});
    CHECK(same_bits(y, Tensor::zeros_like(y)));
    kernels::gine_sum_backward({.at = {csr, {}, {}}, .dy = x, .x = y, .e = e, .w = w, .dx = dx, .dw = dw});
    CHECK(same_bits(dx, Tensor::zeros_like(dx)));
    CHECK(same_bits(dw, Tensor::zeros_like(dw)));
  }
}

TEST_CASE("gine_sum refuses what does not fit, naming it") {
  const Csr csr = structure({2, 1}, 4);
  const Tensor x = Tensor::zeros({4, 5}), e = Tensor::zeros({3, 2}), w = Tensor::zeros({2, 5});
  Tensor y = Tensor::zeros({3, 5});
  const auto message = [&](const Tensor& features, const Tensor& edges, const Tensor& map, Tensor& out) {
    return error_of([&] {
      kernels::gine_sum({.a = {csr, {}, {}}, .x = features, .e = edges, .w = map, .y = out});
    });
  };
  CHECK(message(x, e, w, y).empty());
  CHECK(mentions(message(Tensor::zeros({3, 5}), e, w, y), "[3, 5]"));
  CHECK(mentions(message(x, Tensor::zeros({4, 2}), w, y), "[4, 2]"));
  CHECK(mentions(message(x, e, {}, y), "one width"));
  CHECK(mentions(message(x, e, Tensor::zeros({2, 4}), y), "[2, 4]"));
  Tensor narrow = Tensor::zeros({3, 4});
  CHECK(mentions(message(x, e, w, narrow), "[3, 4]"));
}
