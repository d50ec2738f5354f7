#include "subgraph_batches.h"

using namespace adj;
using namespace adj::test;

namespace {

SaintLoaderOptions few(PropagationMatrix matrix = PropagationMatrix::none, int workers = 0) {
  return {.sampling = {.method = SaintMethod::walk, .budget = 20, .walk_length = 2},
          .coverage = 10,
          .matrix = matrix,
          .loading = {.steps = 4, .seed = 5, .workers = workers}};
}

SparseMatrix matrix_of(const Graph& graph, PropagationMatrix kind) {
  return kind == PropagationMatrix::gcn    ? graph.gcn_adjacency()
         : kind == PropagationMatrix::mean ? graph.mean_adjacency()
                                           : graph.adjacency();
}

/// A budget with which every node is in every subgraph.
SaintLoaderOptions everything(PropagationMatrix matrix) {
  return {.sampling = {.method = SaintMethod::walk, .budget = 4000, .walk_length = 0},
          .coverage = 3,
          .matrix = matrix,
          .loading = {.steps = 2}};
}

constexpr PropagationMatrix kMatrices[] = {PropagationMatrix::sum, PropagationMatrix::mean,
                                           PropagationMatrix::gcn};

}  // namespace

TEST_CASE("edge weights of a subgraph are the whole matrix's entries divided by their frequency") {
  for (Device device : devices())
    for (const bool weighted : {false, true})
      for (const PropagationMatrix kind : kMatrices) {
        CAPTURE(static_cast<int>(kind));
        const Dataset data = small_citations(weighted, weighted).to(device);
        const SaintLoader loader(data, data.train, few(kind));
        const Graph whole = data.graph.to(Device::cpu());
        const SaintNormalization& norm = loader.normalization();
        CHECK(norm.samples > 0);
        const auto factors = edges_of(whole, {}, norm.edge);
        const SparseMatrix matrix = matrix_of(whole, kind);
        const auto inverse = values(norm.node);
        for (const SubgraphBatch& batch : loader.epoch(1)) {
          CHECK(agrees(batch, data, data.train));
          CHECK(batch.graph.device() == device);
          CHECK(batch.graph.is_normalized());
          const auto nodes = batch.nodes.to_vector<int32_t>();
          const auto found = edges_of(batch.graph, batch.nodes, batch.graph.edge_weight());
          const auto expected = edges_among(Graph(matrix.relation()), batch.nodes, matrix.values());
          CHECK(found.size() == expected.size());
          for (const auto& [ends, value] : expected) {
            const double factor = ends.first == ends.second ? 1.0 : factors.at(ends);
            REQUIRE(found.count(ends) == 1);
            REQUIRE(found.at(ends) == doctest::Approx(value * factor).epsilon(1e-5));
          }
          const auto places = batch.seeds.to_vector<int32_t>();
          const auto weight = values(batch.weight);
          REQUIRE(weight.size() == places.size());
          for (size_t k = 0; k < places.size(); ++k)
            REQUIRE(weight[k] ==
                    doctest::Approx(inverse[static_cast<size_t>(nodes[static_cast<size_t>(places[k])])] /
                                    static_cast<double>(data.train.numel())));
        }
      }
}

TEST_CASE("without a matrix edges are unweighted, and without coverage all seeds have equal weights") {
  for (const bool weighted : {false, true}) {
    const Dataset data = small_citations(false, weighted);
    SaintLoaderOptions options = few();
    for (const int64_t coverage : {10, 0}) {
      options.coverage = coverage;
      const SaintLoader loader(data, data.train, options);
      CHECK((loader.normalization().samples > 0) == (coverage > 0));
      for (const SubgraphBatch& batch : loader.epoch(0)) {
        CHECK_FALSE(batch.graph.is_normalized());
        CHECK(static_cast<bool>(batch.weight) == (coverage > 0));
        CHECK(edges_of(batch.graph, batch.nodes, batch.graph.edge_weight()) ==
              edges_among(data.graph, batch.nodes, data.graph.edge_weight()));
      }
    }
  }
}

TEST_CASE("losses and sums over neighbours in subgraphs are unbiased estimates") {
  const Dataset data = small_citations();
  const NoGrad no_grad;
  const Tensor f = random_tensor({300, 1});
  const auto value = values(f);
  for (const PropagationMatrix kind : {PropagationMatrix::mean, PropagationMatrix::gcn}) {
    SaintLoaderOptions options = few(kind);
    options.sampling.budget = 60;
    options.coverage = 1000;
    options.loading.steps = 3000;
    const SaintLoader loader(data.graph, Features(f), {}, data.train, options);
    const auto whole = values(aggregate(matrix_of(data.graph, kind), Var(f)).value());
    double of_seeds = 0.0;
    for (const int32_t i : data.train.to_vector<int32_t>()) of_seeds += value[static_cast<size_t>(i)];
    of_seeds /= static_cast<double>(data.train.numel());
    double mean = 0.0, square = 0.0;
    std::vector<double> sum(300), seen(300), squares(300);
    for (const SubgraphBatch& batch : loader.epoch(0)) {
      const auto nodes = batch.nodes.to_vector<int32_t>();
      const auto weight = values(batch.weight);
      const auto places = batch.seeds.to_vector<int32_t>();
      double estimate = 0.0;
      for (size_t k = 0; k < places.size(); ++k)
        estimate += weight[k] * value[static_cast<size_t>(nodes[static_cast<size_t>(places[k])])];
      mean += estimate / 3000.0;
      square += estimate * estimate / 3000.0;
      const auto y = values(aggregate(batch.graph.adjacency(), Var(batch.x.dense())).value());
      for (size_t k = 0; k < nodes.size(); ++k) {
        const auto i = static_cast<size_t>(nodes[k]);
        sum[i] += y[k];
        squares[i] += y[k] * y[k];
        ++seen[i];
      }
    }
    // Tolerance in deviations of a mean over 3000 subgraphs, and of the normalisation's error.
    CHECK(std::abs(mean - of_seeds) < 6.0 * std::sqrt((square - mean * mean) / 3000.0) + 1e-3);
    for (size_t i = 0; i < 300; ++i) {
      CAPTURE(i);
      REQUIRE(seen[i] > 100);
      const double center = sum[i] / seen[i];
      const double deviation = std::sqrt(std::max(0.0, squares[i] / seen[i] - center * center));
      CHECK(std::abs(center - whole[i]) < 6.0 * deviation / std::sqrt(seen[i]) + 0.05 * deviation + 1e-4);
    }
  }
}

TEST_CASE("with all nodes in a subgraph a step has the gradient of the whole graph") {
  for (Device device : devices()) {
    const Dataset data = small_citations().to(device);
    const auto holds = [&](auto& model, PropagationMatrix kind) {
      model.to(device);
      const Var expected = cross_entropy(model(data.graph, data.x), data.y, data.train);
      expected.backward();
      const std::vector<Tensor> gradients = take_gradients(model);
      const SaintLoader loader(data, data.train, everything(kind));
      const SubgraphBatch batch = loader.batch(0, 1);
      CHECK(batch.size() == 300);
      const Var loss = cross_entropy_sum(model(batch.graph, batch.x), batch.y, batch.seeds, batch.weight);
      loss.backward();
      CHECK(loss.item() == doctest::Approx(expected.item()).epsilon(1e-5));
      const std::vector<Var> parameters = model.parameters();
      for (size_t p = 0; p < parameters.size(); ++p) {
        // The softmax of an attention may cancel a gradient down to rounding errors.
        const std::vector<double> whole = values(gradients[p]);
        const bool vanishes = std::ranges::all_of(whole, [](double g) { return std::abs(g) < 1e-7; });
        CHECK((vanishes ? close(parameters[p].grad(), gradients[p], 1e-7)
                        : close_to_scale(parameters[p].grad(), gradients[p], 1e-4)));
      }
    };
    manual_seed(3);
    nn::Model<TwoLayers<nn::GCNConv>> gcn(20, 3);
    holds(gcn, PropagationMatrix::gcn);
    nn::Model<TwoLayers<nn::SAGEConv>> sage(20, 3);
    holds(sage, PropagationMatrix::mean);
    nn::Model<TwoLayers<nn::GATConv>> gat(20, 3);
    holds(gat, PropagationMatrix::none);
  }
}

TEST_CASE("an epoch has the same subgraphs for any workers and threads, also after other epochs") {
  for (Device device : devices())
    for (const SaintMethod method : {SaintMethod::node, SaintMethod::edge, SaintMethod::walk}) {
      const Dataset data = small_citations().to(device);
      const auto expected = epoch_of_any_workers([&](int workers, uint64_t seed) {
        SaintLoaderOptions options = few(PropagationMatrix::gcn, workers);
        options.sampling.method = method;
        options.loading.seed = seed;
        return SaintLoader(data, data.train, options);
      });
      CHECK(std::ssize(expected) == 4);
      CHECK_FALSE(same({expected[0]}, std::vector{expected[1]}));
    }
}

TEST_CASE("the number of subgraphs of an epoch, and subgraphs without seeds") {
  const Dataset data = small_citations();
  SaintLoaderOptions options = few();
  options.loading.steps = 0;
  CHECK(SaintLoader(data, data.train, options).size() == 5);  // 300 nodes in walks of 3, 20 at a time
  options.sampling.method = SaintMethod::edge;
  CHECK(SaintLoader(data, data.train, options).size() == 8);
  options.sampling.method = SaintMethod::node;
  CHECK(SaintLoader(data, data.train, options).size() == 15);
  const Tensor none = Tensor::empty({0}, DType::i32);
  const SaintLoader loader(data.graph, data.x, {}, none, options);
  const SubgraphBatch batch = loader.batch(0, 0);
  CHECK(batch.seeds.shape() == Shape{0});
  CHECK(batch.weight.shape() == Shape{0});
  CHECK_FALSE(batch.y);
}

TEST_CASE("a subgraph of one node, which has no edges") {
  for (Device device : devices())
    for (const PropagationMatrix kind :
         {PropagationMatrix::none, PropagationMatrix::sum, PropagationMatrix::mean, PropagationMatrix::gcn}) {
      const Dataset data = small_citations().to(device);
      SaintLoaderOptions options = few(kind);
      options.sampling.budget = 1;
      options.sampling.walk_length = 0;
      const Tensor every = random_permutation(300, default_generator(), device);
      const SubgraphBatch batch = SaintLoader(data, every, options).batch(0, 0);
      CHECK(batch.size() == 1);
      CHECK(batch.graph.num_edges() == (kind == PropagationMatrix::gcn ? 1 : 0));
      CHECK(batch.graph.is_normalized() == (kind != PropagationMatrix::none));
      manual_seed(3);
      nn::Model<TwoLayers<nn::GCNConv>> model(20, 3);
      model.to(device);
      const Var loss = cross_entropy_sum(model(batch.graph, batch.x), batch.y, batch.seeds, batch.weight);
      loss.backward();
      CHECK(std::isfinite(loss.item()));
    }
}

TEST_CASE("errors of the saint loader") {
  check_refused("saint", "seeds", [](const Dataset& data, const Tensor& seeds, const LoaderOptions& options) {
    return SaintLoader(data, seeds, {.sampling = {.budget = 20}, .coverage = 1, .loading = options});
  });
  const Dataset data = small_citations();
  const auto with = [&](const char* message, const std::function<void(SaintLoaderOptions&)>& change) {
    SaintLoaderOptions options = few();
    change(options);
    CHECK_ERROR_HAS(SaintLoader(data, ids({1}), options), message);
  };
  with("coverage of -1", [](auto& o) { o.coverage = -1; });
  with("a budget of 0", [](auto& o) { o.sampling.budget = 0; });
  with("walks of -1 steps", [](auto& o) { o.sampling.walk_length = -1; });
  with("expected neither batch_size nor shuffle", [](auto& o) { o.loading.shuffle = true; });
  with("expected neither batch_size nor shuffle", [](auto& o) { o.loading.batch_size = 5; });
  with("expected a coverage of 1 or more",
       [](auto& o) { o.coverage = 0, o.matrix = PropagationMatrix::gcn; });
  CHECK_THROWS_AS(SaintLoader(Graph(), data.x, {}, ids({1}), few()), Error);
}
