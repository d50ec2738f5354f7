// Classifies whole graphs: layers by edge operations, pooling by segment_mean, trained in mini-batches and
// evaluated on all graphs in one.
//   graph_classifier [DATASET.h5]      a graph_class dataset; without one, trees of two kinds are drawn
#include <adjoint/adjoint.h>

#include <algorithm>

using namespace adj;

struct Classifier : nn::Module {
  Classifier(int64_t in, int64_t hidden, int64_t out)
      : first(this, "first", in, hidden),
        second(this, "second", hidden, hidden),
        last(this, "last", hidden, out) {}
  /// x [N, in] of all nodes, offsets [G + 1] of the graphs' nodes: [G, out].
  Var operator()(const Graph& graph, const Var& x, const Tensor& offsets) const {
    const Var h = relu(first(x + aggregate(graph, x)));
    return last(segment_mean(relu(second(h + aggregate(graph, h))), offsets));
  }
  nn::Child<nn::Linear> first, second, last;
};

/// Trees of 20 nodes, grown by random attachment (class 0) or mostly as a path (class 1).
Dataset draw_trees(int64_t graphs) {
  constexpr int64_t kNodes = 20;
  Generator generator(7);
  const std::vector<double> u =
      random_uniform({graphs * kNodes}, 0.0, 1.0, generator, DType::f64).to_vector<double>();
  std::vector<int32_t> src, dst, label;
  std::vector<int64_t> offsets{0};
  for (int64_t g = 0; g < graphs; ++g) {
    label.push_back(static_cast<int32_t>(g % 2));
    for (int64_t i = 1; i < kNodes; ++i) {
      const int64_t reach = g % 2 == 0 ? i : std::min<int64_t>(i, 2), node = g * kNodes + i;
      const auto parent =
          node - 1 - static_cast<int64_t>(u[static_cast<size_t>(node)] * static_cast<double>(reach));
      src.insert(src.end(), {static_cast<int32_t>(parent), static_cast<int32_t>(node)});
      dst.insert(dst.end(), {static_cast<int32_t>(node), static_cast<int32_t>(parent)});
    }
    offsets.push_back(offsets.back() + kNodes);
  }
  Dataset data;
  data.classes = 2;
  data.graph = Graph::from_coo(graphs * kNodes, Tensor::from(src), Tensor::from(dst));
  data.x = Features(Tensor::full({graphs * kNodes, 1}, 1.0));
  data.graph_offsets = Tensor::from(offsets);
  data.graph_y = Tensor::from(label);
  return data;
}

int main(int argc, char** argv) {
  const Dataset data = (argc > 1 ? load_dataset(argv[1]) : draw_trees(400)).to(Device::best());
  manual_seed(1);
  const NodeSplit split = random_node_split(data.graph_y.numel(), {.val = 0.0, .test = 0.2},
                                            generator_for(Purpose::split), data.device());
  nn::Model<Classifier> model(data.num_features(), 32, data.num_classes());
  model.to(data.device());
  optim::Adam adam(model.parameters(), {.lr = 0.01});
  const GraphLoader loader(data, split.train, {.batch_size = 32, .shuffle = true, .workers = 2});
  for (int64_t epoch = 0; epoch < 30; ++epoch)
    for (const GraphBatch& batch : loader.epoch(epoch)) {
      cross_entropy(model(batch.graph, Var(batch.x.to_dense()), batch.offsets), batch.y).backward();
      adam.step();
    }
  const NoGrad no_grad;
  const Tensor logits = model(data.graph, Var(data.x.to_dense()), data.graph_offsets).value();
  const double accuracy = nn::accuracy(logits, data.graph_y, split.test);
  fmt::print("graph classification: test accuracy {:.3f}\n", accuracy);
  return accuracy > 0.65 ? 0 : 1;
}
