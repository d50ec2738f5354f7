#include "../reference/pyg_case.h"
#include "layers.h"
#include <adjoint/graph/all_pairs.h>
#include <adjoint/nn/conv/gps_conv.h>
#include <adjoint/nn/conv/graph_conv.h>
#include <adjoint/nn/conv/sage_conv.h>

using namespace adj;
using namespace adj::test;

namespace {

Tensor offsets_of(const std::vector<int32_t>& sizes, Device device = {}) {
  std::vector<int64_t> offsets{0};
  for (const int32_t size : sizes) offsets.push_back(offsets.back() + size);
  return Tensor::from(offsets, device);
}

const std::map<std::string, std::string> kPygNames{{"attn.in_proj.weight", "attn.in_proj_weight"},
                                                   {"attn.in_proj.bias", "attn.in_proj_bias"},
                                                   {"first", "mlp.0"},
                                                   {"second", "mlp.3"}};

template <class Conv>
void equals_pyg(const std::string& name, int64_t heads) {
  on_devices(
      name,
      [&](PygCase& ref) {
        nn::Model<nn::GPSConv<Conv>> layer(6, nn::GPSConvOptions{.heads = heads}, 6, 6);
        ref.load(layer, kPygNames);
        std::map<std::string, std::string> names = kPygNames;
        for (const char* norm : {"norm1.", "norm2.", "norm3."}) names[norm] = std::string(norm) + "module.";
        const Tensor offsets = offsets_of(ref("sizes").template to_vector<int32_t>(), ref("sizes").device());
        ref.compare(layer, layer(ref.graph(), all_pairs(offsets), ref.in("x")), names);
      },
      "pyg_gps.h5");
}

}  // namespace

TEST_CASE("all_pairs joins the nodes of each graph") {
  for (Device device : devices()) {
    const Relation pairs = all_pairs(offsets_of({2, 0, 1, 3}, device));
    CHECK(pairs.num_src() == 6);
    CHECK(pairs.symmetric());
    const EdgeIndex edges = pairs.edge_index();
    CHECK(edges.dst.to_vector<int32_t>() == std::vector<int32_t>{0, 0, 1, 1, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5});
    CHECK(edges.src.to_vector<int32_t>() == std::vector<int32_t>{0, 1, 0, 1, 2, 3, 4, 5, 3, 4, 5, 3, 4, 5});
    CHECK(all_pairs(offsets_of({}, device)).num_edges() == 0);
  }
  CHECK_ERROR_HAS(all_pairs(offsets_of({50'000})), "a graph has 50000 nodes, too many for attention");
  CHECK_ERROR_HAS(all_pairs(offsets_of(std::vector<int32_t>(3, 30'000))), "a graph has 30000 nodes");
  CHECK_ERROR_HAS(all_pairs(Tensor::from(std::vector<int64_t>{0, 3, 2})), "expected to ascend from 0");
  CHECK_ERROR_HAS(all_pairs(Tensor::zeros({2})), "expected int64 [G + 1]");
}

TEST_CASE("GPSConv and its gradients equal PyG's") {
  equals_pyg<nn::SAGEConv>("one", 1);
  equals_pyg<nn::SAGEConv>("graphs", 2);
  equals_pyg<nn::GraphConv>("heads", 3);
}

TEST_CASE("MultiheadAttention mixes a graph's nodes alone, and names what does not fit") {
  Draw draw(440, Device::cpu(), DType::f32);
  const nn::Model<nn::MultiheadAttention> layer(8, nn::MultiheadAttentionOptions{.heads = 4});
  const Tensor a = draw.normal({5, 8}), b = draw.normal({3, 8});
  const Var both = layer(all_pairs(offsets_of({5, 3})), cat({a, b})),
            one = layer(all_pairs(offsets_of({5})), a);
  CHECK(same_bits(both.value().rows(0, 5), one.value()));
  CHECK(layer.in_proj.bias.value().to_vector<float>() == std::vector<float>(24));
  CHECK(layer.out_proj.bias.value().to_vector<float>() == std::vector<float>(8));
  CHECK_ERROR_HAS((nn::Model<nn::MultiheadAttention>(8, nn::MultiheadAttentionOptions{.heads = 3})),
                  "MultiheadAttention: 3 heads of width 8, expected a divisor of it");
}
