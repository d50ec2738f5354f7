#include "cases.h"
#include <adjoint/kernels/sparse/coo.h>
#include <adjoint/kernels/sparse/csr.h>

using namespace adj;
using namespace adj::test;

namespace {

struct Edges {
  int64_t nodes;
  std::vector<int32_t> dst, src;
};

/// Several loops of one node among them, nodes without an edge, and a node of many.
std::vector<Edges> edges() {
  const auto random = [](int64_t nodes, int64_t count) {
    return Edges{nodes, random_ints(count, 0, static_cast<int32_t>(nodes)).to_vector<int32_t>(),
                 random_ints(count, 0, static_cast<int32_t>(nodes)).to_vector<int32_t>()};
  };
  std::vector<Edges> all{random(50, 200), random(3, 60), random(70000, 150001), {4, {}, {}}};
  for (size_t e = 0; e < all[2].dst.size(); e += 3) all[2].dst[e] = 5;
  for (size_t e = 0; e < all[0].dst.size(); e += 9) all[0].src[e] = all[0].dst[e];
  return all;
}

Coo on(const Edges& e, Device device, bool with_loops) {
  std::vector<int32_t> dst = e.dst, src = e.src;
  for (int32_t i = 0; with_loops && i < e.nodes; ++i) dst.push_back(i), src.push_back(i);
  return {e.nodes, e.nodes, Tensor::from(dst, device), Tensor::from(src, device), with_loops ? e.nodes : 0};
}

}  // namespace

TEST_CASE("coo_degrees counts exactly, on any number of threads") {
  for (Device device : devices())
    for (const Edges& list : edges()) {
      const Tensor row = Tensor::from(list.dst, device);
      std::vector<float> expected(uz(list.nodes), 0.0f);
      for (int32_t i : list.dst) ++expected[uz(i)];
      for (const int threads : {1, 2, 5}) {
        const Threads count(threads);
        Tensor y = random_tensor({list.nodes}, DType::f32, device);
        kernels::coo_degrees({.row = row, .y = y});
        CHECK(y.to_vector<float>() == expected);
      }
    }
}

TEST_CASE("coo_mean divides by the number of entries of the row") {
  on_devices_and_floats([](Device device, DType dtype) {
    const Edges list = edges()[0];
    const Tensor row = Tensor::from(list.dst, device);
    Tensor degree = Tensor::empty({list.nodes}, DType::f32, device);
    kernels::coo_degrees({.row = row, .y = degree});
    const Tensor w = random_tensor({row.numel()}, dtype, device);
    const Numbers d = values(degree), of_w = values(w);
    for (const bool weighted : {false, true}) {
      Tensor y = Tensor::empty_like(w);
      kernels::coo_mean({.row = row, .degree = degree, .w = weighted ? w : Tensor(), .y = y});
      Numbers expected;
      for (size_t e = 0; e < list.dst.size(); ++e)
        expected.push_back((weighted ? of_w[e] : 1.0) / d[uz(list.dst[e])]);
      CHECK(close(y, expected, 1e-6));
    }
  });
}

TEST_CASE("coo_gcn_normalize equals the plain normalisation, and has the same bits on any threads") {
  for (Device device : devices())
    for (const Edges& list : edges())
      for (const bool with_loops : {false, true})
        for (const bool weighted : {false, true})
          for (const float fill : {1.0f, 2.0f}) {
            CAPTURES(list.nodes, with_loops, weighted, fill);
            const Coo a = on(list, device, with_loops);
            std::vector<float> w;
            for (size_t e = 0; e < list.dst.size(); ++e)
              w.push_back(weighted ? 0.5f + static_cast<float>(e % 7) : 1.0f);
            // Plainly: the last loop counts alone.
            Numbers kept(w.begin(), w.end());
            const auto nodes = uz(list.nodes);
            Numbers loop(nodes, static_cast<double>(fill)), degree(nodes, 0.0);
            if (with_loops)
              for (size_t e = 0; e < kept.size(); ++e)
                if (list.dst[e] == list.src[e]) {
                  loop[uz(list.dst[e])] = kept[e];
                  kept[e] = 0.0;
                }
            for (size_t e = 0; e < kept.size(); ++e) degree[uz(list.dst[e])] += kept[e];
            if (with_loops)
              for (size_t i = 0; i < nodes; ++i) degree[i] += loop[i], kept.push_back(loop[i]);
            Numbers expected;
            for (size_t e = 0; e < kept.size(); ++e) {
              const size_t i = e < w.size() ? uz(list.dst[e]) : e - w.size();
              const size_t j = e < w.size() ? uz(list.src[e]) : e - w.size();
              expected.push_back(degree[i] > 0 && degree[j] > 0 ? kept[e] / std::sqrt(degree[i] * degree[j])
                                                                : 0.0);
            }
            Tensor first;
            for (const int threads : {1, 2, 5}) {
              const Threads count(threads);
              Tensor sums = Tensor::empty({list.nodes}, DType::f32, device);
              Tensor weights = random_tensor({a.entries()}, DType::f32, device);
              kernels::coo_gcn_normalize({.a = a,
                                          .values = weighted ? Tensor::from(w, device) : Tensor(),
                                          .fill = fill,
                                          .degree = sums,
                                          .weights = weights});
              CHECK(close(weights, expected, 1e-6));
              CHECK(close(sums, degree, 1e-6));
              CHECK((!first || same_bits(first, weights)));
              first = weights;
            }
          }
}

TEST_CASE("lists refuse what does not fit") {
  for (Device device : devices()) {
    const Edges list = edges()[0];
    const Coo a = on(list, device, false);
    Tensor degree = Tensor::empty({list.nodes}, DType::f32, device);
    Tensor weights = Tensor::empty({a.entries()}, DType::f32, device), less = weights.rows(0, 3);
    CHECK_ERROR_HAS(kernels::coo_gcn_normalize({.a = a, .degree = degree, .weights = less}),
                    "coo_gcn_normalize: weights is");
    CHECK_ERROR_HAS(
        kernels::coo_gcn_normalize({.a = a, .values = weights, .degree = degree, .weights = weights}),
        "weights cannot be the values");
    Coo tall = a;
    tall.rows = 60;
    CHECK_ERROR_HAS(kernels::coo_gcn_normalize({.a = tall, .degree = degree, .weights = weights}),
                    "expected a square structure, got [60, 50]");
    Tensor whole = Tensor::empty({a.entries()}, DType::i32, device);
    CHECK_ERROR_HAS(kernels::coo_mean({.row = a.row, .degree = degree, .y = whole}), "coo_mean: y is");
  }
}
