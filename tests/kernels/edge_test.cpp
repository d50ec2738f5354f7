#include "attention_cases.h"
#include "gemm_cases.h"
#include <adjoint/kernels/aggregate/edge_mean.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/edge/edge_add.h>
#include <adjoint/kernels/edge/edge_softmax.h>

using namespace adj;
using namespace adj::test;

namespace {

template <class F>
void for_edges(F f) {
  for (Device device : devices())
    for (bool ordered : {false, true})
      for (const auto& lengths :
           {std::vector<int64_t>{3, 0, 1, 17, 0, 5, 2}, skewed_lengths(13000), lengths_at_boundaries(),
            std::vector<int64_t>{0, 0, 0}, std::vector<int64_t>{}}) {
        const Edges edges(random_structure(lengths, 61, device), ordered);
        CAPTURES(ordered, lengths.size());
        f(edges, device);
      }
}

/// [n] for no heads, else [n, heads].
Shape by_head(int64_t n, int64_t heads) { return heads == 0 ? Shape{n} : Shape{n, heads}; }

/// f(edges, dtype, heads, device), where 0 heads means one head without a dimension.
template <class F>
void for_heads(F f) {
  for_edges([&](const Edges& edges, Device device) {
    for (DType dtype : {DType::f32, DType::f64, DType::bf16})
      for (int64_t heads : {0, 1, 3, 8, 40}) {
        if (heads > 8 && edges.count() > 1000) continue;
        CAPTURES(name_of(dtype), heads);
        f(edges, dtype, heads, device);
      }
  });
}

Numbers plain_softmax(const Edges& edges, const Numbers& e, size_t heads) {
  return PlainAttention(edges, heads, 0, e, Numbers(e.size()),
                        [](size_t, size_t, size_t, size_t) { return 0.0; })
      .alpha;
}

Numbers plain_softmax_backward(const Edges& edges, const Numbers& y, const Numbers& dy, size_t heads) {
  Numbers dot(uz(edges.csr.rows) * heads), de(y.size());
  for (size_t h = 0; h < heads; ++h) {
    edges.each(
        [&](size_t i, size_t, size_t k) { dot[i * heads + h] += y[k * heads + h] * dy[k * heads + h]; });
    edges.each([&](size_t i, size_t, size_t k) {
      de[k * heads + h] = y[k * heads + h] * (dy[k * heads + h] - dot[i * heads + h]);
    });
  }
  return de;
}

}  // namespace

TEST_CASE("edge_softmax and its gradient equal plain loops") {
  for_heads([](const Edges& edges, DType dtype, int64_t h, Device device) {
    const auto heads = uz(std::max<int64_t>(h, 1));
    const Tensor e = random_tensor(by_head(edges.count(), h), dtype, device),
                 dy = random_tensor(e.shape(), accumulator_dtype(dtype), device);
    Tensor y = random_tensor(e.shape(), accumulator_dtype(dtype), device),
           de = random_tensor(e.shape(), dtype, device);
    kernels::edge_softmax({.a = edges.a(), .e = e, .y = y});
    const Numbers expected = plain_softmax(edges, values(e), heads);
    CHECK(close(y, expected, tolerance(accumulator_dtype(dtype))));
    kernels::edge_softmax_backward({.a = edges.a(), .y = y, .dy = dy, .de = de});
    CHECK(close(de, plain_softmax_backward(edges, values(y), values(dy), heads), tolerance(dtype)));
    if (dtype == DType::bf16) return;
    Tensor in_place = e.clone(), gradient = dy.clone();
    kernels::edge_softmax({.a = edges.a(), .e = in_place, .y = in_place});
    CHECK(same_bits(in_place, y));
    kernels::edge_softmax_backward({.a = edges.a(), .y = y, .dy = gradient, .de = gradient});
    CHECK(same_bits(gradient, de));
  });
}

TEST_CASE("edge_softmax of large logits is finite, -inf has weight 0, and NaN is passed on") {
  for (Device device : devices())
    for (int64_t repeats : {1, 3000}) {  // of the first row: a short one, and one in parts
      CAPTURE(repeats);
      const Edges edges(random_structure({3 * repeats, 2, 2, 1}, 5, device), false);
      std::vector<float> e;
      for (int64_t k = 0; k < repeats; ++k) e.insert(e.end(), {3e38f, -INFINITY, 3e38f});
      e.insert(e.end(), {-3e38f, -3e38f, 1.0f, NAN, -1e4f});
      Tensor y = Tensor::empty({edges.count()}, DType::f32, device);
      kernels::edge_softmax({.a = edges.a(), .e = Tensor::from(e, device), .y = y});
      const Numbers found = values(y);
      const double share = 0.5 / static_cast<double>(repeats);
      for (size_t k = 0; k + 5 < found.size(); ++k)
        REQUIRE(found[k] == doctest::Approx(k % 3 == 1 ? 0.0 : share));
      const double* rest = found.data() + 3 * repeats;
      CHECK(rest[0] == 0.5);
      CHECK(rest[1] == 0.5);
      CHECK(std::isnan(rest[2]));
      CHECK(std::isnan(rest[3]));
      CHECK(rest[4] == 1.0);
    }
}

TEST_CASE("edge_add, edge_sum and edge_mean equal plain loops") {
  for_heads([](const Edges& edges, DType dtype, int64_t h, Device device) {
    const auto heads = uz(std::max<int64_t>(h, 1));
    const Tensor l = random_tensor(by_head(edges.csr.rows, h), dtype, device);
    const Tensor r = random_tensor(by_head(edges.csr.cols, h), dtype, device);
    Tensor e = random_tensor(by_head(edges.count(), h), accumulator_dtype(dtype), device);
    const Tensor w = e.clone();
    Numbers added(uz(e.numel())), summed(uz(l.numel())), divided(added.size()), shares(added.size());
    const Numbers lv = values(l), rv = values(r), ev = values(e);
    edges.each([&](size_t i, size_t j, size_t k) {
      const double length = edges.length(i);
      for (size_t c = 0; c < heads; ++c) {
        added[k * heads + c] = lv[i * heads + c] + rv[j * heads + c];
        summed[i * heads + c] += ev[k * heads + c];
        divided[k * heads + c] = ev[k * heads + c] / length;
        shares[k * heads + c] = 1.0 / length;
      }
    });
    kernels::edge_add({.a = edges.a(), .l = l, .r = r, .e = e});
    CHECK(close(e, added, tolerance(accumulator_dtype(dtype))));
    Tensor y = random_tensor(l.shape(), dtype, device);
    kernels::edge_sum({.a = edges.a(), .e = w, .y = y});
    CHECK(close(y, summed, dtype == DType::bf16 ? 8e-3 : 4 * tolerance(dtype)));
    kernels::edge_mean({.a = edges.a(), .w = w, .y = e});
    CHECK(close(e, divided, tolerance(accumulator_dtype(dtype))));
    kernels::edge_mean({.a = edges.a(), .y = e});
    CHECK(close(e, shares, tolerance(accumulator_dtype(dtype))));
  });
}

TEST_CASE("sparse products with weights by head equal plain loops") {
  for_edges([](const Edges& edges, Device device) {
    const bool large = edges.count() > 1000;
    for (DType dtype : {DType::f32, DType::f64, DType::bf16})
      for (int64_t heads : {1, 2, 3, 8})
        for (int64_t width : {1, 3, 8, 16, 33, 64, 300, 600}) {
          if (width > 100 && (heads > 2 || large)) continue;
          if (large && (heads == 3 || heads == 8 || width == 16 || width == 3)) continue;
          CAPTURES(name_of(dtype), heads, width);
          const Tensor x = random_tensor({edges.cols(), heads * width}, dtype, device);
          const Tensor target = random_tensor({edges.rows(), heads * width}, dtype, device);
          const Tensor w = random_tensor({edges.count(), heads}, accumulator_dtype(dtype), device);
          const Tensor bias = random_tensor({heads * width}, dtype, device);
          const Numbers product = plain_spmm(edges, edges.rows(), w, x),
                        dots = plain_sddmm(edges, edges.count(), target, x, uz(heads));
          Tensor y = random_tensor(target.shape(), dtype, device),
                 again = random_tensor(target.shape(), dtype, device);
          Tensor dw = random_tensor(w.shape(), accumulator_dtype(dtype), device), dw_again = dw.clone();
          kernels::spmm({.a = edges.a(w), .x = x, .y = y});
          kernels::sddmm({.a = edges.a(), .y = target, .x = x, .dw = dw});
          kernels::spmm_backward({.at = edges.a(w), .dy = x, .x = target, .dx = again, .dw = dw_again});
          const double off = dtype == DType::f64 ? 1e-12 : dtype == DType::bf16 ? 8e-3 : 2e-4;
          for (const Tensor& found : {y, again}) CHECK(close(found, product, off));
          for (const Tensor& found : {dw, dw_again})
            CHECK(close(found, dots, dtype == DType::f64 ? 1e-12 : 1e-5));
          kernels::spmm({.a = edges.a(w), .x = x, .bias = bias, .activation = Activation::relu, .y = y});
          CHECK(close(y, finished(product, bias, Activation::relu), std::max(off, 1e-6)));
        }
  });
}

TEST_CASE("edge kernels give the same bits on 1, 2 and 4 threads, and at every call") {
  for (Device device : devices())
    for (bool ordered : {false, true})
      for (int64_t heads : {1, 4}) {
        CAPTURES(ordered, heads);
        const Edges edges(random_structure(skewed_lengths(13000), 61, device), ordered);
        const Tensor e = random_tensor({edges.count(), heads}, DType::f32, device);
        const Tensor x = random_tensor({61, heads * 24}, DType::f32, device);
        const auto check = [&](int64_t rows, int64_t columns, auto kernel) {
          CHECK(writes_same_bits_on_any_threads({rows, columns}, kernel, device));
        };
        const CsrMatrix a = edges.a(), weighted = edges.a(e);
        check(edges.count(), heads, [&](Tensor& y) { kernels::edge_softmax({.a = a, .e = e, .y = y}); });
        check(edges.count(), heads,
              [&](Tensor& y) { kernels::edge_softmax_backward({.a = a, .y = e, .dy = e, .de = y}); });
        check(a.csr.rows, heads, [&](Tensor& y) { kernels::edge_sum({.a = a, .e = e, .y = y}); });
        check(a.csr.rows, heads * 24, [&](Tensor& y) { kernels::spmm({.a = weighted, .x = x, .y = y}); });
      }
}

TEST_CASE("errors of edge kernels name the mismatch") {
  const Edges edges(random_structure({2, 1}, 3), false);
  const Tensor x = random_tensor({3, 6});
  Tensor y = Tensor::empty({2, 6}), e = Tensor::empty({3, 2}), short_e = Tensor::empty({2});
  CHECK_ERROR(kernels::spmm({.a = edges.a(random_tensor({3, 4})), .x = x, .y = y}),
              "spmm: values is [3, 4] float32 on cpu, but 6 features do not divide into 4 heads");
  CHECK_THROWS_AS(kernels::spmm({.a = edges.a(random_tensor({3, 0})), .x = x, .y = y}), Error);
  CHECK_ERROR(kernels::edge_softmax({.a = edges.a(), .e = short_e, .y = short_e}),
              "edge_softmax: e is [2] float32 on cpu, for 3 entries");
  Tensor narrow = Tensor::empty({3, 2}, DType::bf16);
  CHECK_ERROR(kernels::edge_softmax({.a = edges.a(), .e = narrow, .y = narrow}),
              "edge_softmax: y is [3, 2] bfloat16 on cpu, expected [3, 2] float32 on cpu");
  CHECK_THROWS_AS(kernels::edge_softmax_backward({.a = edges.a(), .y = narrow, .dy = narrow, .de = narrow}),
                  Error);
  CHECK_THROWS_AS(
      kernels::edge_add({.a = edges.a(), .l = random_tensor({2}), .r = random_tensor({3, 2}), .e = e}),
      Error);
  CHECK_THROWS_AS(kernels::edge_sum({.a = edges.a(), .e = e, .y = short_e}), Error);
}
