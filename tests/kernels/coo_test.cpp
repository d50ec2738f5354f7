#include "../structures.h"
#include "cases.h"
#include <adjoint/kernels/aggregate/coo_sums.h>
#include <adjoint/kernels/sparse/csr.h>

using namespace adj;
using namespace adj::test;

namespace {

/// With several loops of one node, nodes without edges, and a node with many.
std::vector<HostCoo> lists() {
  std::vector<HostCoo> all{
      random_list(50, 50, 200), random_list(3, 3, 60), random_list(70000, 70000, 150001), {4, 4, {}, {}}};
  for (size_t e = 0; e < all[2].row.size(); e += 3) all[2].row[e] = 5;
  for (size_t e = 0; e < all[0].row.size(); e += 9) all[0].col[e] = all[0].row[e];
  return all;
}

}  // namespace

TEST_CASE("coo_degrees counts exactly, on any number of threads") {
  for (Device device : devices())
    for (const HostCoo& list : lists()) {
      const Tensor row = Tensor::from(list.row, device);
      std::vector<float> expected(uz(list.rows), 0.0f);
      for (int32_t i : list.row) ++expected[uz(i)];
      for (const int threads : {1, 2, 5}) {
        const Threads count(threads);
        Tensor y = random_tensor({list.rows}, DType::f32, device);
        kernels::coo_degrees({.row = row, .y = y});
        CHECK(y.to_vector<float>() == expected);
      }
    }
}

TEST_CASE("coo_mean divides by the number of entries of the row") {
  on_devices_and_floats([](Device device, DType dtype) {
    const HostCoo list = lists()[0];
    const Tensor row = Tensor::from(list.row, device);
    Tensor degree = Tensor::empty({list.rows}, DType::f32, device);
    kernels::coo_degrees({.row = row, .y = degree});
    const Tensor w = random_tensor({row.numel()}, dtype, device);
    const Numbers d = values(degree), of_w = values(w);
    for (const bool weighted : {false, true}) {
      Tensor y = Tensor::empty_like(w);
      kernels::coo_mean({.row = row, .degree = degree, .w = weighted ? w : Tensor(), .y = y});
      Numbers expected;
      for (size_t e = 0; e < list.row.size(); ++e)
        expected.push_back((weighted ? of_w[e] : 1.0) / d[uz(list.row[e])]);
      CHECK(close(y, expected, 1e-6));
    }
  });
}

TEST_CASE("coo_gcn_normalize equals plain loops, with the same bits on any threads") {
  for (Device device : devices())
    for (const HostCoo& list : lists())
      for (const bool looped : {false, true})
        for (const bool weighted : {false, true})
          for (const float fill : {1.0f, 2.0f}) {
            CAPTURES(list.rows, looped, weighted, fill);
            const HostCoo all = looped ? with_loops(list) : list;
            const Coo a = all.to(device);
            std::vector<float> w;
            for (size_t e = 0; e < list.row.size(); ++e)
              w.push_back(weighted ? 0.5f + static_cast<float>(e % 7) : 1.0f);
            // Plain loops: only the last loop counts.
            Numbers kept(w.begin(), w.end()), degree(uz(list.rows)),
                loop(degree.size(), static_cast<double>(fill));
            if (looped) {
              list.each([&](size_t i, size_t j, size_t e) {
                if (i == j) loop[i] = std::exchange(kept[e], 0.0);
              });
              kept.insert(kept.end(), loop.begin(), loop.end());
            }
            all.each([&](size_t i, size_t, size_t e) { degree[i] += kept[e]; });
            Numbers expected(kept.size());
            all.each([&](size_t i, size_t j, size_t e) {
              if (degree[i] > 0 && degree[j] > 0) expected[e] = kept[e] / std::sqrt(degree[i] * degree[j]);
            });
            Tensor sums = Tensor::empty({list.rows}, DType::f32, device), weights;
            CHECK(same_bits_on_any_threads(
                [&] {
                  weights = random_tensor({a.entries()}, DType::f32, device);
                  kernels::coo_gcn_normalize({.a = a,
                                              .values = weighted ? Tensor::from(w, device) : Tensor(),
                                              .fill = fill,
                                              .degree = sums,
                                              .weights = weights});
                  return std::vector{weights, sums.clone()};
                },
                {1, 2, 5}));
            CHECK(close(weights, expected, 1e-6));
            CHECK(close(sums, degree, 1e-6));
          }
}

TEST_CASE("lists reject mismatched arguments") {
  for (Device device : devices()) {
    const HostCoo list = lists()[0];
    const Coo a = list.to(device);
    Tensor degree = Tensor::empty({list.rows}, DType::f32, device);
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
