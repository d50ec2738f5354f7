#include "../reference/pyg_case.h"
#include "../support.h"
#include <adjoint/data/interactions.h>
#include <adjoint/models/light_gcn.h>
#include <adjoint/nn/metrics/top_k_metrics.h>

#include <algorithm>

using namespace adj;
using namespace adj::test;
using models::LightGCN;

namespace {

constexpr const char* kFile = "pyg_lightgcn.h5";
constexpr int64_t kUsers = 9, kItems = 7;

std::vector<double> numbers_in(const PygCase& ref, const std::string& name) {
  return ref(name).to(DType::f64).to_vector<double>();
}

}  // namespace

TEST_CASE("LightGCN, its loss and their gradients equal PyG's") {
  for (const char* group : {"average", "alphas", "factors"})
    on_devices(
        group,
        [](PygCase& ref) {
          const auto layers = static_cast<int64_t>(ref.option("layers", -1));
          const Tensor x = ref("x");
          for (DType dtype : {DType::f32, DType::f64}) {
            nn::Model<LightGCN> model(
                kUsers, kItems,
                models::LightGCNOptions{
                    .width = x.size(1), .layers = layers, .alphas = numbers_in(ref, "alphas")});
            model.to(x.device());
            model.to(dtype);
            model.load_state({{"embedding.weight", x.to(dtype)}});
            const Graph graph =
                interaction_graph(ref("pairs").to(Device::cpu()), kUsers, kItems).to(x.device());
            CHECK(close(model(graph).value().to(DType::f32), ref("y"), 1e-6));
            const Var loss = model.loss(graph, ref("rows"), ref.option("penalty", -1));
            CHECK(std::abs(loss.item() - ref("loss").item()) < 1e-6);
            loss.backward();
            CHECK(close(model.embedding.weight.grad().to(DType::f32), ref("dx"), 1e-6));
          }
        },
        kFile);
}

TEST_CASE("metrics of lists equal PyG's") {
  for (const auto& [group, items, k] : {std::tuple("lists", 60, 10), {"first", 5, 1}}) {
    CAPTURE(group);
    const PygCase ref(group, Device::cpu(), kFile);
    const std::vector<int32_t> lists = ref("lists").to_vector<int32_t>(),
                               user = ref("user").to_vector<int32_t>(),
                               item = ref("item").to_vector<int32_t>();
    nn::TopKSums sums(k, items, ref("popularity").to_vector<int32_t>());
    for (int64_t u = 0; u < ref("lists").size(0); ++u) {
      std::vector<int32_t> wanted;
      for (size_t e = 0; e < user.size(); ++e)
        if (user[e] == u) wanted.push_back(item[e]);
      sums.add(std::span(lists).subspan(static_cast<size_t>(u * k), static_cast<size_t>(k)), wanted);
    }
    const nn::TopKMetrics found = sums.result();
    for (const auto& [name, value] : {std::pair("precision", found.precision),
                                      {"recall", found.recall},
                                      {"f1", found.f1},
                                      {"map", found.map},
                                      {"ndcg", found.ndcg},
                                      {"mrr", found.mrr},
                                      {"hit_ratio", found.hit_ratio},
                                      {"coverage", found.coverage},
                                      {"personalization", found.personalization},
                                      {"popularity", found.popularity}}) {
      CAPTURE(name);
      CHECK(std::abs(value - ref.option(name, -1)) < 1e-12);
    }
    CHECK(found.users == static_cast<int64_t>(ref.option("users", -1)));
  }
}

TEST_CASE("a list may end early, and be empty") {
  nn::TopKSums sums(3, 4);
  const std::vector<int32_t> ends{2, -1, -1}, none{-1, -1, -1}, wanted{0, 2};
  sums.add(ends, wanted);
  sums.add(none, wanted);
  CHECK(sums.result().precision == doctest::Approx(1.0 / 6));
  CHECK(sums.result().recall == doctest::Approx(0.25));
  CHECK(sums.result().coverage == 0.25);
  CHECK(sums.result().personalization == 1.0);
  CHECK_ERROR_HAS(nn::TopKSums(0, 4), "k is 0, expected 1 or more");
  CHECK_ERROR_HAS(nn::TopKSums(1, 4, {1}), "the popularity of 1 items, expected 4");
}

TEST_CASE("LightGCN names what does not fit") {
  CHECK_ERROR_HAS(nn::Model<LightGCN>(0, 3), "0 users and 3 items, expected 1 or more");
  CHECK_ERROR_HAS((nn::Model<LightGCN>(2, 3, models::LightGCNOptions{.layers = 2, .alphas = {1.0}})),
                  "1 alphas for 2 layers, expected 3");
  const nn::Model<LightGCN> model(2, 3);
  CHECK_ERROR_HAS(model(interaction_graph(Tensor::zeros({1, 2}, DType::i32), 2, 2)),
                  "a graph of 4 nodes, expected 2 users and 3 items");
}
