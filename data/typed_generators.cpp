#include <adjoint/core/random.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/typed_generators.h>
#include <adjoint/graph/generate/generators.h>

#include <algorithm>
#include <cmath>
#include <set>

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

namespace {

/// Items with cumulative weights.
struct Popularity {
  std::vector<int32_t> items;
  std::vector<double> sums;

  void add(int32_t item, double weight) {
    items.push_back(item);
    sums.push_back((sums.empty() ? 0.0 : sums.back()) + weight);
  }
  int32_t draw(double share) const {
    const auto found = std::upper_bound(sums.begin(), sums.end(), share * sums.back());
    return items[std::min(static_cast<size_t>(found - sums.begin()), items.size() - 1)];
  }
};

ItemTable named(const std::string& name, int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", name, i));
  const detail::PackedNames packed = detail::packed(names);
  ItemTable table;
  table.node_names = packed.bytes;
  table.node_name_offsets = packed.offsets;
  return table;
}

}  // namespace

TypedDataset make_taste_dataset(const TasteOptions& o) {
  constexpr int64_t kMost = 1 << 30;
  ADJ_CHECK(o.users >= 1 && o.users <= kMost && o.items >= 1 && o.items <= kMost,
            "tastes: {} users and {} items, expected 1 to {}", o.users, o.items, kMost);
  ADJ_CHECK(o.tastes >= 1 && o.tastes <= std::min(o.users, o.items),
            "tastes: {} tastes of {} users and {} items, expected at least 1 and a user and an item of each",
            o.tastes, o.users, o.items);
  ADJ_CHECK(o.interactions >= 2 && 3 * o.interactions <= o.items,
            "tastes: {} interactions of {} items, expected 2 to a third of the items", o.interactions,
            o.items);
  ADJ_CHECK(o.signal >= 0.0 && o.signal <= 0.99, "tastes: a signal of {}, expected 0 to 0.99", o.signal);
  Generator generator(o.seed);
  const std::vector<int32_t> ranked = random_permutation(o.items, generator).to_vector<int32_t>(),
                             shuffled = random_permutation(o.users, generator).to_vector<int32_t>();
  const auto tastes = static_cast<size_t>(o.tastes);
  std::vector<Popularity> popular(tastes + 1);  // of each taste, and of all
  for (size_t rank = 0; rank < ranked.size(); ++rank) {
    const double weight = std::pow(static_cast<double>(rank / tastes) + 2.0, -0.8);
    popular[rank % tastes].add(ranked[rank], weight);
    popular[tastes].add(ranked[rank], weight);
  }
  std::vector<int32_t> src, dst;
  const RandomKey key = generator.next();
  for (int64_t user = 0; user < o.users; ++user) {
    const size_t taste = static_cast<size_t>(shuffled[static_cast<size_t>(user)]) % tastes;
    const Generator draws = Generator(key.seed).split(static_cast<uint64_t>(user));
    const auto numbers = [&](uint64_t draw) { return philox(draws.seed(), 0, draw); };
    const auto count = static_cast<size_t>(
        std::lround((0.5 + to_uniform(numbers(0).word[0])) * static_cast<double>(o.interactions)));
    std::set<int32_t> taken;
    for (uint64_t draw = 1; taken.size() < count; ++draw) {
      const PhiloxBlock block = numbers(draw);
      const bool by_taste = to_uniform(block.word[0]) < o.signal;
      const int32_t item = popular[by_taste ? taste : tastes].draw(to_uniform(block.word[1]));
      if (!taken.insert(item).second) continue;
      src.push_back(static_cast<int32_t>(user));
      dst.push_back(item);
    }
  }
  const EdgeType type{"user", "took", "item"};
  TypedDataset data;
  data.name = "tastes";
  data.graph =
      HeteroGraph({{"user", o.users}, {"item", o.items}},
                  {{type, {Relation::from_coo(o.users, o.items, Tensor::from(src), Tensor::from(dst)), {}}}});
  data.nodes = {{"user", named("user", o.users)}, {"item", named("item", o.items)}};
  data.edges[type];
  return data;
}

}  // namespace adj
