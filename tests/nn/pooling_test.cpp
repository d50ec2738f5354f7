#include "../reference/pyg_case.h"
#include "layers.h"
#include <adjoint/nn/pooling.h>

#include <algorithm>

using namespace adj;
using namespace adj::test;
using nn::GraphPool, nn::GraphPooling;

namespace {

Tensor offsets_of(const std::vector<int32_t>& sizes, Device device = {}) {
  std::vector<int64_t> offsets{0};
  for (const int32_t size : sizes) offsets.push_back(offsets.back() + size);
  return Tensor::from(offsets, device);
}

void equals_pyg(const std::string& name, GraphPool kind, double ratio = 0.5) {
  on_devices(
      name,
      [&](PygCase& ref) {
        nn::Model<GraphPooling> pool(kind, 5, nn::GraphPoolingOptions{.ratio = ratio});
        const std::map<std::string, std::string> names{
            {"gate", "gate_nn"}, {"conv", "gnn"}, {"projection", "select.weight"}};
        ref.load(pool, names);
        const Tensor sizes = ref("sizes");
        const Graph graph = Graph::from_coo(ref("in/x").size(0), ref("src"), ref("dst"));
        ref.compare(pool, pool(graph, ref.in("x"), offsets_of(sizes.to_vector<int32_t>(), sizes.device())),
                    names);
      },
      "pyg_pooling.h5");
}

}  // namespace

TEST_CASE("attention, set2set, topk and sag pooling and their gradients equal PyG's") {
  equals_pyg("attention", GraphPool::attention);
  equals_pyg("set2set", GraphPool::set2set);
  equals_pyg("topk", GraphPool::topk);
  equals_pyg("topk_most", GraphPool::topk, 0.8);
  equals_pyg("sag", GraphPool::sag, 0.3);
}

TEST_CASE("topk keeps the first of equal scores; empty graphs give zeros") {
  for (const Device device : devices()) {
    nn::Model<GraphPooling> pool(GraphPool::topk, 1);
    pool.to(device);
    Tensor direction = pool.projection.value();
    direction.fill_(1.0);
    // Scores are tanh(x). Of the first graph's four equal rows two are kept, of the third's five the best
    // three.
    const Tensor x = Tensor::from(std::vector<float>{2, 2, 2, 2, 5, -1, 3, -2, 4}, {9, 1}, device);
    const Graph graph =
        Graph::from_coo(9, Tensor::empty({0}, DType::i32), Tensor::empty({0}, DType::i32)).to(device);
    Var input = Var::parameter(x);
    const Var y = pool(graph, input, offsets_of({4, 0, 5, 0}, device));
    const auto scored = [](double v) { return v * std::tanh(v); };
    CHECK(close(y.value(),
                {scored(2), scored(2), 0, 0, (scored(5) + scored(3) + scored(4)) / 3, scored(5), 0, 0},
                1e-6));
    sum(y).backward();
    const Numbers grad = values(input.grad());
    for (const size_t kept : {0, 1, 4, 6, 8}) CHECK(grad[kept] > 0.1);
    for (const size_t left : {2, 3, 5, 7}) CHECK(grad[left] == 0.0);
    for (const GraphPool kind : values_of<GraphPool>()) {
      nn::Model<GraphPooling> any(kind, 3);
      any.to(device);
      const Graph none =
          Graph::from_coo(0, Tensor::empty({0}, DType::i32), Tensor::empty({0}, DType::i32)).to(device);
      const Numbers zeros = values(
          any(none, Var(Tensor::zeros({0, 3}, DType::f32, device)), offsets_of({0, 0}, device)).value());
      CHECK(std::ssize(zeros) == 2 * any.width());
      if (kind != GraphPool::set2set)
        CHECK(std::all_of(zeros.begin(), zeros.end(), [](double v) { return v == 0.0; }));
    }
  }
  CHECK_ERROR_HAS(nn::Model<GraphPooling>(GraphPool::topk, 3, nn::GraphPoolingOptions{.ratio = 0.0}),
                  "a ratio of 0");
  CHECK_ERROR_HAS(nn::Model<GraphPooling>(GraphPool::set2set, 3, nn::GraphPoolingOptions{.steps = 0}),
                  "0 steps");
}
