#include "measure.h"

namespace adj::apps {

namespace {

/// The sizes of PyG's FakeHeteroDataset(num_node_types=16, num_edge_types=128): 1,000 nodes a type, 10,000
/// edges a relation, its types drawn.
constexpr int64_t kTypes = 16, kRelations = 128, kNodes = 1000, kEdges = 10'000;

/// One layer over that graph, whatever the subject's; x and the seed gradient of its output are random.
struct TypedLayer {
  explicit TypedLayer(const Subject& s)
      : layer(s.width, s.width, kTypes, kRelations, nn::HGTConvOptions{.heads = s.shared_heads()}) {
    layer.to(s.device());
    std::vector<int32_t> src, dst, type;
    Generator draws(1);
    const auto nodes = random_integers({2 * kRelations * kEdges}, 0, kNodes, draws, DType::i32)
                           .to_vector<int32_t>(),
               ends = random_integers({2 * kRelations}, 0, kTypes, draws, DType::i32).to_vector<int32_t>();
    for (int64_t r = 0; r < kRelations; ++r)
      for (int64_t e = r * kEdges; e < (r + 1) * kEdges; ++e) {
        const auto node = [&](int64_t end) {
          const int64_t kind = ends[static_cast<size_t>(2 * r + end)];
          return static_cast<int32_t>(kind * kNodes) + nodes[static_cast<size_t>(2 * e + end)];
        };
        src.push_back(node(0));
        dst.push_back(node(1));
        type.push_back(static_cast<int32_t>(r));
      }
    const Device device = s.device();
    relation = Relation::from_coo(kTypes * kNodes, kTypes * kNodes, Tensor::from(src, device),
                                  Tensor::from(dst, device));
    types = Tensor::from(type, device);
    std::vector<int32_t> kinds;
    for (int64_t k = 0; k < kTypes * kNodes; ++k) kinds.push_back(static_cast<int32_t>(k / kNodes));
    node_types = Tensor::from(kinds, device);
    x = Var::parameter(random_normal({kTypes * kNodes, s.width}, 0.0, 1.0, draws).to(device));
    seed = random_normal({kTypes * kNodes, s.width}, 0.0, 1.0, draws).to(device);
    done = Var(Tensor::zeros({}, DType::f32, device));
  }
  Var output() const { return layer(relation, x, node_types, types); }

  nn::Model<nn::HGTConv> layer;
  Relation relation;
  Tensor types, node_types, seed;
  Var x, done;
};

Job typed_job(const Subject& s, bool backward) {
  const auto typed = std::make_shared<TypedLayer>(s);
  const auto step = std::make_shared<optim::CapturedStep>(
      [typed, backward] {
        if (backward) {
          typed->layer.zero_grad();
          typed->x.zero_grad();
          typed->output().backward(typed->seed);
        } else {
          const NoGrad no_grad;
          (void)typed->output();
        }
        return typed->done;
      },
      optim::CapturedStep::Options{.capture = s.capture});
  return {
      fmt::format("{}, {} nodes, {} edges", typed->layer.describe(), kTypes * kNodes, kRelations * kEdges),
      0.0, 0.0, [step] { (*step)(); }};
}

}  // namespace

std::vector<Op> typed_ops() {
  return {{"hgt_layer", "forward pass of HGTConv over 16 types of nodes and 128 relations",
           [](const Subject& s) { return typed_job(s, false); }},
          {"hgt_layer_gradients", "the same with its gradients",
           [](const Subject& s) { return typed_job(s, true); }}};
}

}  // namespace adj::apps
