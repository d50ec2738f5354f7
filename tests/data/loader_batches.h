#pragma once

#include "../support.h"

namespace adj::test {

template <class Loader>
auto batches(const Loader& loader, int64_t epoch) {
  std::vector<decltype(loader.batch(0, 0))> all;
  for (const auto& batch : loader.epoch(epoch)) all.push_back(batch);
  return all;
}

/// All tensors of a batch, some of which may be absent.
inline std::vector<Tensor> parts(const Graph& graph) {
  return {graph.in_edges().offsets, graph.in_edges().indices, graph.edge_weight()};
}
inline std::vector<Tensor> parts(const std::vector<Block>& blocks) {
  std::vector<Tensor> all;
  for (const Block& block : blocks) {
    const Csr& csr = block.relation().csr();
    all.insert(all.end(), {csr.offsets, csr.indices, block.src_nodes(), block.edge_ids()});
  }
  return all;
}
inline std::vector<Tensor> parts(std::vector<Tensor> some, std::initializer_list<Tensor> more) {
  some.insert(some.end(), more);
  return some;
}
inline std::vector<Tensor> parts(const NeighborBatch& b) {
  return parts(parts(b.blocks), {b.x.to_dense(), b.y, b.seeds});
}
inline std::vector<Tensor> parts(const LinkBatch& b) {
  return parts(parts(b.blocks), {b.x.to_dense(), b.nodes, b.pairs.src, b.pairs.dst, b.label,
                                 Tensor::full({}, static_cast<double>(b.positives))});
}
inline std::vector<Tensor> parts(const SubgraphBatch& b) {
  return parts(parts(b.graph), {b.x.to_dense(), b.y, b.nodes, b.seeds, b.weight});
}
inline std::vector<Tensor> parts(const GraphBatch& b) {
  return parts(parts(b.graph), {b.x.to_dense(), b.y, b.nodes, b.graphs, b.offsets});
}

/// True if the batches have the same bits.
template <class Batch>
bool same(const std::vector<Batch>& a, const std::vector<Batch>& b) {
  if constexpr (requires(const Batch& batch) { parts(batch); }) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Batch& p, const Batch& q) {
      const std::vector<Tensor> s = parts(p), t = parts(q);
      return std::equal(s.begin(), s.end(), t.begin(), t.end(),
                        [](const Tensor& x, const Tensor& y) { return x && y ? same_bits(x, y) : !x && !y; });
    });
  } else {
    return a == b;
  }
}

/// Epoch 3 of the loaders that make(workers, seed) makes. Checks that it is the same for all workers and
/// threads, also after other epochs, and another one with another seed.
template <class Make>
auto epoch_of_any_workers(Make&& make) {
  const auto loader = make(0, 5);
  auto expected = batches(loader, 3);
  for (int threads : {1, 3}) {
    const Threads scope(threads);
    for (int workers : {0, 1, 3}) {
      const auto other = make(workers, 5);
      CHECK(same(batches(other, 3), expected));
      CHECK_FALSE(same(batches(other, 2), expected));
      CHECK(same(batches(other, 3), expected));
    }
  }
  CHECK_FALSE(same(batches(make(0, 6), 3), expected));
  CHECK(same({loader.batch(3, 2)}, std::vector{expected[2]}));
  return expected;
}

/// int64 numbers of nodes, graphs or others.
inline Tensor ids(const std::vector<int64_t>& numbers) { return Tensor::from(numbers); }
/// int32 0 to n - 1.
inline Tensor every(int64_t n, Device device = {}) {
  std::vector<int32_t> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return Tensor::from(all, device);
}
/// The numbers of all batches' tensor `part`, in order.
template <class Batch>
std::vector<int32_t> numbers_of(const std::vector<Batch>& all, Tensor Batch::*part) {
  std::vector<int32_t> numbers;
  for (const Batch& batch : all)
    for (const int32_t i : (batch.*part).template to_vector<int32_t>()) numbers.push_back(i);
  return numbers;
}

/// True if `x` are the rows `nodes` of the dataset's features.
inline bool has_rows(const Features& x, const Dataset& data, const Tensor& nodes) {
  const Device cpu;
  const Features all = data.x.to(cpu);
  return x.is_sparse() == all.is_sparse() && x.device() == data.device() &&
         same_bits(x.to(cpu).to_dense(), all.rows(nodes.to(cpu).to(DType::i32)).to_dense());
}

/// A store of `columns` zeros per node that fails for the node `bad`, or returns a row too few for -1.
struct BadStore : FeatureStore {
  BadStore(int64_t nodes, int64_t columns, int32_t bad) : nodes_(nodes), columns_(columns), bad_(bad) {}
  int64_t rows() const override { return nodes_; }
  int64_t cols() const override { return columns_; }
  bool is_sparse() const override { return false; }
  Features gather(const Tensor& nodes, Device device) const override {
    for (const int32_t i : nodes.to_vector<int32_t>())
      if (i == bad_) fail("no features of node {}", bad_);
    return Features(Tensor::zeros({nodes.numel() - (bad_ < 0), columns_}, DType::f32, device));
  }

 private:
  int64_t nodes_, columns_;
  int32_t bad_;
};

/// The gradients of a model's parameters, which become 0.
template <class Model>
std::vector<Tensor> take_gradients(Model& model) {
  std::vector<Tensor> taken;
  for (const Var& parameter : model.parameters()) taken.push_back(parameter.grad().clone());
  model.zero_grad();
  return taken;
}
template <class Model>
void check_gradients_are(Model& model, const std::vector<Tensor>& expected, double tolerance) {
  const std::vector<Var> parameters = model.parameters();
  for (size_t p = 0; p < parameters.size(); ++p)
    CHECK(close_to_scale(parameters[p].grad(), expected[p], tolerance));
}

/// Checks what every loader refuses: make(options) makes one of a single item.
template <class Make>
void check_options_refused(const std::string& name, Make&& make) {
  const auto bad = [&](const LoaderOptions& options, const std::string& part) {
    const std::string error = error_of([&] { (void)make(options); });
    CHECK(error.starts_with(name + " loader: "));
    CHECK(mentions(error, part));
  };
  bad({.batch_size = -1}, "batch");
  bad({.steps = -1}, "-1 steps");
  bad({.workers = -1}, "-1 workers");
  bad({.workers = 100000}, "100000 workers and a depth of 0, expected 0 to 1024 and 0 or more");
  bad({.depth = -1}, "depth of -1");
  const auto loader = make({});
  CHECK_ERROR_HAS((void)loader.epoch(-1), "epoch -1");
  CHECK_ERROR_HAS((void)loader.batch(-1, 0), "epoch -1");
  CHECK_ERROR_HAS((void)loader.batch(0, loader.size()), fmt::format("batch {}", loader.size()).c_str());
}
/// The same for loaders of nodes or graphs: make(data, items, options) makes one for `data`, with as many
/// nodes as graphs.
template <class Make>
void check_refused(const std::string& name, const std::string& items, Make&& make) {
  constexpr int64_t kCount = 300;
  const Tensor none = Tensor::empty({0}, DType::i32), one = ids({1});
  Dataset data;
  data.name = "bare";
  data.graph = Graph::from_coo(kCount, none, none);
  data.x = Features(Tensor::zeros({kCount, 2}));
  data.y = data.graph_y = data.part = Tensor::zeros({kCount}, DType::i32);
  data.graph_offsets = every(kCount + 1).to(DType::i64);
  check_options_refused(name, [&](const LoaderOptions& options) { return make(data, one, options); });
  const auto bad = [&](const Dataset& dataset, const Tensor& which, const std::string& message) {
    CHECK(mentions(error_of([&] { (void)make(dataset, which, LoaderOptions()); }),
                   name + " loader: " + message));
  };
  for (const Tensor& other : {Tensor(), Tensor::zeros({3}), Tensor::zeros({3, 1}, DType::i32)})
    bad(data, other, fmt::format("{} are {}, expected int32 or int64 [K]", items, other.str()));
  bad(data, ids({1, kCount}), items + "[1] is 300, expected 0 to 299");
  bad(data, ids({-1}), items + "[0] is -1");
  bad(data, ids({int64_t{1} << 32}), items + "[0] is 4294967296");
  bad(data, ids({5, 6, 5}), items + "[2] is 5, which occurs before");
  bad({}, one, "a dataset without a graph");
  Dataset other = data;
  other.x = {};
  bad(other, one, "dataset 'bare' has no features");
  other.x = Features(Tensor::zeros({kCount - 1, 2}));
  bad(other, one, "features of 299 nodes, expected of 300");
  other = data;
  other.y = other.graph_y = Tensor::zeros({kCount - 1});
  bad(other, one, "labels are [299] float32 on cpu, expected [300] or [300, T]");
}

}  // namespace adj::test
