#include "../op_table.h"
#include "../structures.h"
#include <adjoint/kernels/aggregate/gine_sum.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("gine_sum and its gradients, by the table of ops") {
  std::vector<int64_t> lengths = lengths_at_boundaries();
  lengths.push_back(20000);  // split into parts on both devices
  std::vector<ops::Links> graphs{Edges(random_structure(lengths, 97), true),
                                 Edges(random_structure({0, 0, 0}, 4), false)};
  for (bool ordered : {false, true})
    graphs.push_back(Edges(random_structure({0, 3, 0, 1, 70, 9, 0, 0, 40}, 13), ordered));
  for (size_t g : {0, 2, 3}) graphs.push_back(graphs[g].turned());
  hold(ops::gine_sums(), graphs);
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
