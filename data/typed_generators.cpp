#include <adjoint/core/random.h>
#include <adjoint/data/typed_generators.h>
#include <adjoint/graph/generate/generators.h>

#include <algorithm>
#include <cmath>

namespace adj {

TypedDataset make_mag_dataset(double scale, uint64_t seed) {
  ADJ_CHECK(scale > 0.0 && scale <= 1.0, "mag dataset: a scale of {}, expected more than 0, at most 1",
            scale);
  const auto scaled = [scale](int64_t count) {
    return std::max<int64_t>(1, std::llround(scale * static_cast<double>(count)));
  };
  const HeteroGraph::NodeCounts nodes{{"paper", scaled(736'389)},
                                      {"author", scaled(1'134'649)},
                                      {"institution", scaled(8'740)},
                                      {"field_of_study", scaled(59'965)}};
  const int64_t papers = nodes.at("paper");
  ADJ_CHECK(papers >= 10, "mag dataset: {} papers, expected 10 or more", papers);
  uint64_t stream = seed;
  const auto ends = [&](const std::string& type, int64_t edges) {
    return Tensor::from(power_law_graph(nodes.at(type), edges, {}, ++stream << 8).dst);
  };
  TypedDataset data;
  data.name = "ogbn-mag";
  std::map<EdgeType, HeteroGraph::Edges> edges;
  for (const auto& [type, count] :
       {std::pair(EdgeType{"author", "affiliated_with", "institution"}, 1'043'998),
        {{"author", "writes", "paper"}, 7'145'660},
        {{"paper", "cites", "paper"}, 5'416'271},
        {{"paper", "has_topic", "field_of_study"}, 7'505'078}}) {
    const Tensor src = ends(type.src, scaled(count)), dst = ends(type.dst, scaled(count));
    edges[type] = {Relation::from_coo(nodes.at(type.src), nodes.at(type.dst), src, dst), {}};
    data.edges[type];
  }
  data.graph = HeteroGraph(nodes, std::move(edges));
  for (const auto& [type, count] : nodes) data.nodes[type];
  Generator generator(seed);
  ItemTable& paper = data.nodes["paper"];
  paper.task = Task::node_class;
  paper.classes = 349;
  paper.x = Features(random_normal({papers, 128}, 0.0, 1.0, generator));
  paper.y = random_integers({papers}, 0, paper.classes, generator, DType::i32);
  // Of ogbn-mag's papers 64,879 are of 2018, 41,939 of 2019 and the others earlier.
  const int64_t val = scaled(64'879), test = scaled(41'939);
  const Tensor order = random_permutation(papers, generator);
  paper.splits = {{order.rows(val + test, papers), order.rows(0, val), order.rows(val, val + test)}};
  paper.use(paper.splits[0]);
  paper.times = Tensor::full({papers}, 2017, DType::i64);
  for (const auto& [part, year] : {std::pair(&paper.val, 2018), {&paper.test, 2019}})
    for (const int32_t i : part->to_vector<int32_t>()) paper.times.mutable_data<int64_t>()[i] = year;
  return data;
}

}  // namespace adj
