#include <adjoint/core/parallel.h>
#include <adjoint/core/random.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/generators.h>

#include <cmath>
#include <limits>

namespace adj {

namespace {

constexpr uint64_t kFeatures = 0x66656174757265;  // generator key of a planted dataset for all but its graph
constexpr int64_t kMostDrawn = std::numeric_limits<int32_t>::max();

Tensor moved(std::vector<int32_t>& list) {
  Tensor tensor = Tensor::from(list);
  list = {};
  return tensor;
}

/// Drops input_order, which is as large as the graph.
Graph graph_of(EdgeList&& edges) {
  const Tensor src = moved(edges.src), dst = moved(edges.dst);
  return Graph(Graph::from_coo(edges.nodes, src, dst).relation());
}

/// 60, 20 and 20 % of the nodes, at random.
void split_at_random(Dataset& data, Generator& generator) {
  const int64_t nodes = data.num_nodes(), part = nodes / 5;
  const Tensor order = random_permutation(nodes, generator);
  data.splits = {{order.rows(2 * part, nodes), order.rows(0, part), order.rows(part, 2 * part)}};
  data.use_split(0);
}

/// x[i] += mean[y[i]] for each row.
void add_means(Tensor& x, const Tensor& mean, const std::vector<int32_t>& y) {
  const int64_t columns = x.size(1);
  const float* source = mean.data<float>();
  float* target = x.mutable_data<float>();
  const int64_t grain = std::max<int64_t>(1, (1 << 14) / columns);
  parallel_for(x.size(0), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t k = 0; k < columns; ++k)
        target[i * columns + k] += source[y[static_cast<size_t>(i)] * columns + k];
  });
}

void check(const PlantedOptions& o) {
  ADJ_CHECK(o.nodes >= 5 && o.features >= 0 && o.features <= kMostDrawn && o.classes >= 1,
            "planted dataset: {} nodes, {} features, {} classes; expected 5, 0 and 1 or more", o.nodes,
            o.features, o.classes);
  ADJ_CHECK(o.signal >= 0.0 && o.signal <= 1e6, "planted dataset: signal {}, expected 0 to 1000000",
            o.signal);
}

}  // namespace

Dataset make_bare_dataset(EdgeList edges) {
  Dataset data;
  data.name = "graph";
  data.graph = graph_of(std::move(edges));
  data.undirected = data.graph.is_symmetric();
  return data;
}

Dataset make_random_dataset(EdgeList edges, int64_t features, int64_t classes, uint64_t seed) {
  ADJ_CHECK(
      edges.nodes >= 5 && features >= 1 && features <= kMostDrawn && classes >= 1 && classes <= kMostDrawn,
      "random dataset: {} nodes, {} features, {} classes; expected 5, 1 and 1 or more", edges.nodes, features,
      classes);
  Dataset data = make_bare_dataset(std::move(edges));
  Generator generator(seed);
  data.name = "random";
  data.task = Task::node_class;
  data.classes = classes;
  data.x = Features(random_normal({data.num_nodes(), features}, 0.0, 1.0, generator));
  data.y = random_integers({data.num_nodes()}, 0, classes, generator, DType::i32);
  split_at_random(data, generator);
  return data;
}

Dataset make_motif_dataset(MotifGraph drawn, const std::string& motif, const std::vector<std::string>& roles,
                           uint64_t seed) {
  ADJ_CHECK(drawn.edges.nodes >= 5, "motif dataset: {} nodes, expected 5 or more", drawn.edges.nodes);
  std::vector<std::string> names;
  std::vector<int32_t> places(roles.size());  // of the last node of each role in its motif
  for (size_t i = 0; i < drawn.motif.size(); ++i) {
    const int32_t m = drawn.motif[i], role = drawn.role[i];
    if (m < 0) {
      names.push_back(fmt::format("{}_{}", roles.front(), i));
      continue;
    }
    if (m != drawn.motif[i - 1]) places.assign(roles.size(), 0);
    names.push_back(fmt::format("{}_{}_{}_{}", motif, m, roles.at(static_cast<size_t>(role)),
                                places[static_cast<size_t>(role)]++));
  }
  Dataset data;
  data.name = motif;
  data.task = Task::node_class;
  data.undirected = true;
  data.classes = std::ssize(roles);
  data.class_names = roles;
  data.graph = graph_of(std::move(drawn.edges));
  data.x = Features(Tensor::full({data.num_nodes(), 1}, 1.0, DType::f32));
  data.feature_names = {"constant"};
  data.y = moved(drawn.role);
  const detail::PackedNames packed = detail::packed(names);
  data.node_names = packed.bytes;
  data.node_name_offsets = packed.offsets;
  Generator generator = Generator(seed).split(kFeatures);
  split_at_random(data, generator);
  return data;
}

Dataset make_planted_dataset(const PlantedOptions& o) {
  check(o);
  PlantedPartition drawn = planted_partition(o.nodes, o.classes, o.degree, o.homophily, o.seed);
  Dataset data;
  data.name = "planted";
  data.task = Task::node_class;
  data.undirected = true;
  data.classes = o.classes;
  data.graph = graph_of(std::move(drawn.edges));
  Generator generator = Generator(o.seed).split(kFeatures);
  if (o.features > 0) {
    const double deviation = o.signal / std::sqrt(static_cast<double>(o.features));
    const Tensor mean = random_normal({o.classes, o.features}, 0.0, deviation, generator);
    Tensor x = random_normal({o.nodes, o.features}, 0.0, 1.0, generator);
    add_means(x, mean, drawn.block);
    data.x = Features(std::move(x));
  }
  data.y = moved(drawn.block);
  split_at_random(data, generator);
  return data;
}

}  // namespace adj
