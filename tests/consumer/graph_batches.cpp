// Classifies whole graphs in mini-batches: GraphLoader, two GraphConvs, and a sum over each graph.
#include <adjoint/adjoint.h>

using namespace adj;

struct Classifier : nn::Module {
  Classifier(int64_t in, int64_t hidden, int64_t out)
      : conv1(this, "conv1", in, hidden),
        conv2(this, "conv2", hidden, hidden),
        last(this, "last", hidden, out) {}
  /// offsets [B + 1] of the graphs' nodes: [B, out].
  Var operator()(const GraphBatch& batch) {
    const Var h = relu(conv1(batch.graph, Var(batch.x.to_dense())));
    return last(segment_sum(relu(conv2(batch.graph, h)), batch.offsets));
  }
  nn::Child<nn::GraphConv> conv1, conv2;
  nn::Child<nn::Linear> last;
};

/// Cycles (class 0) and paths (class 1) of 4 to 9 nodes.
Dataset draw_graphs(int64_t graphs) {
  std::vector<int32_t> src, dst, label;
  std::vector<int64_t> offsets{0};
  for (int64_t g = 0; g < graphs; ++g) {
    const int64_t nodes = 4 + g / 2 % 6, at = offsets.back();
    for (int64_t i = g % 2; i < nodes; ++i) {
      const auto a = static_cast<int32_t>(at + (i + nodes - 1) % nodes), b = static_cast<int32_t>(at + i);
      src.insert(src.end(), {a, b});
      dst.insert(dst.end(), {b, a});
    }
    label.push_back(static_cast<int32_t>(g % 2));
    offsets.push_back(at + nodes);
  }
  Dataset data;
  data.task = Task::graph_class;
  data.classes = 2;
  data.graph = Graph::from_coo(offsets.back(), Tensor::from(src), Tensor::from(dst));
  data.x = Features(Tensor::full({offsets.back(), 1}, 1.0));
  data.graph_offsets = Tensor::from(offsets);
  data.graph_y = Tensor::from(label);
  return data;
}

int main() {
  const Dataset data = draw_graphs(240).to(Device::best());
  manual_seed(1);
  const NodeSplit split = random_node_split(data.graph_y.numel(), {.val = 0.0, .test = 0.2},
                                            generator_for(Purpose::split), data.device());
  nn::Model<Classifier> model(data.num_features(), 16, data.classes);
  model.to(data.device());
  optim::Adam adam(model.parameters(), {.lr = 0.01});
  const GraphLoader train(data, split.train, {.batch_size = 32, .shuffle = true, .workers = 2});
  for (int64_t epoch = 0; epoch < 30; ++epoch)
    for (const GraphBatch& batch : train.epoch(epoch)) {
      cross_entropy(model(batch), batch.y).backward();
      adam.step();
    }
  const NoGrad no_grad;
  const GraphLoader test(data, split.test, {.batch_size = split.test.numel(), .backward = false});
  const GraphBatch all = test.batch(0, 0);
  const double accuracy = nn::accuracy(model(all).value(), all.y);
  fmt::print("graphs in batches: test accuracy {:.3f}\n", accuracy);
  return accuracy > 0.9 ? 0 : 1;
}
