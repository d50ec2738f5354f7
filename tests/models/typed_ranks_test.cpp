// Models of several types of nodes over the rows of several ranks: the bits of one rank in every loss,
// gradient and parameter of some steps, and the numbers of one device without ranks.
#include "../reference/plain.h"
#include <adjoint/autograd/loss.h>
#include <adjoint/graph/joint_graph.h>
#include <adjoint/graph/ranks/rank_scope.h>
#include <adjoint/models/family.h>
#include <adjoint/optim/gradient_sums.h>
#include <adjoint/optim/optimizer.h>

#include <atomic>
#include <mutex>

using namespace adj;
using namespace adj::models;
using namespace adj::test;

namespace {

constexpr int64_t kClasses = 3;
constexpr uint64_t kSeed = 17;

/// Papers, a type without nodes, one with fewer than ranks, and one without features; relations with parallel
/// edges and loops, with a hub, and without edges.
struct TypedCase {
  std::shared_ptr<GraphSchema> schema = std::make_shared<GraphSchema>();
  Graph graph;
  Features x;
  Tensor y, index;

  TypedCase(bool featured, DType dtype) {
    Draw draw(5, Device::cpu());
    const int64_t width = featured ? 1 : 0;
    schema->nodes = {{"paper", 130, 3 * width},
                     {"empty", 0, 2 * width},
                     {"venue", 2, 0},
                     {"author", 61, 0},
                     {"place", 5, 2 * width}};
    schema->relations = {{"author", "writes", "paper"}, {"paper", "cites", "paper"},
                         {"venue", "near", "author"},   {"paper", "in", "venue"},
                         {"venue", "has", "paper"},     {"place", "of", "author"}};
    std::vector<int32_t> src, dst, type;
    const auto add = [&](int32_t relation, int64_t edges, int64_t first_source, int64_t sources,
                         int64_t first_target, int64_t targets) {
      const auto a = draw.ints(edges, 0, sources).to_vector<int32_t>(),
                 b = draw.ints(edges, 0, targets).to_vector<int32_t>();
      for (size_t e = 0; e < a.size(); ++e) {
        src.push_back(static_cast<int32_t>(first_source) + (e % 5 == 4 ? 0 : a[e]));
        dst.push_back(static_cast<int32_t>(first_target) + (e % 7 == 3 ? 1 : b[e]));
        type.push_back(relation);
        if (e % 9 != 8) continue;  // parallel
        src.push_back(src.back()), dst.push_back(dst.back()), type.push_back(relation);
      }
    };
    add(0, 250, 132, 61, 0, 130);
    add(1, 300, 0, 130, 0, 130);
    add(3, 130, 0, 130, 130, 2);
    add(4, 130, 130, 2, 0, 130);
    add(5, 40, 193, 5, 132, 61);
    graph = Graph::from_coo(schema->num_nodes(), Tensor::from(src), Tensor::from(dst), {},
                            {{"type", Tensor::from(type)}});
    TypedFeatures rows;
    std::vector<int32_t> types;
    for (size_t t = 0; t < schema->nodes.size(); ++t) {
      const auto& nodes = schema->nodes[t];
      rows.counts.push_back(nodes.count);
      rows.x.push_back(nodes.features > 0 ? draw.normal({nodes.count, nodes.features}).to(dtype) : Tensor());
      types.insert(types.end(), uz(nodes.count), static_cast<int32_t>(t));
    }
    rows.types = Tensor::from(types);
    x = Features(rows);
    std::vector<int32_t> labels = draw.ints(130, 0, kClasses).to_vector<int32_t>(), chosen;
    labels.resize(uz(schema->num_nodes()), 0);
    y = Tensor::from(labels);
    for (int32_t i = 127; i >= 0; i -= 2) chosen.push_back(i % 128 == 7 ? 0 : i);
    index = Tensor::from(chosen);
  }
};

/// What one rank has, or a device all of.
struct Rows {
  Graph graph;
  Features x;
  Tensor y, index;
};

/// Losses, all outputs, and gradients and parameters after some steps.
std::vector<Tensor> train(const ModelFamily& family, ModelOptions options, const TypedCase& c,
                          const Rows& rows, DType dtype, int steps) {
  manual_seed(kSeed);
  options.types.schema = c.schema;
  const auto model = family.make_as<NodeModel>(c.schema->num_features(), kClasses, options);
  model->to(rows.graph.device());
  model->to(dtype);
  const RankRows* rank = RankScope::innermost();
  std::optional<optim::GradientSums> sums;
  if (rank != nullptr) sums.emplace(model->parameters(), rank->group);
  optim::Adam adam(model->parameters(), {.lr = 0.01});
  optim::SGD sgd(model->parameters(), {.lr = 0.1});
  std::vector<Tensor> results;
  for (int step = 0; step < steps; ++step) {
    const Var out = (*model)(rows.graph, rows.x);
    const Var loss = cross_entropy(out, rows.y.rows(0, out.size(0)), rows.index);
    loss.backward();
    results.push_back(loss.value().clone());
    for (const auto& [name, parameter] : model->named_parameters())
      results.push_back(parameter.grad() ? parameter.grad().clone() : Tensor::zeros_like(parameter.value()));
    // Adam would make steps of the rounding of gradients that are 0.
    dtype == DType::f64 ? sgd.step() : adam.step();
  }
  model->eval();
  const Tensor out = (*model)(rows.graph, rows.x).value();
  results.push_back((rank != nullptr ? rank->gather(out) : out).rows(0, 130).clone());
  for (const auto& [name, parameter] : model->named_parameters())
    results.push_back(parameter.value().clone());
  return results;
}

std::vector<Tensor> train_over(int64_t ranks, Device device, const ModelFamily& family,
                               const ModelOptions& options, const TypedCase& c, DType dtype, int steps,
                               std::atomic<int>& alike) {
  std::vector<Tensor> first;
  std::mutex lock;
  run_ranks(std::vector<Device>(uz(ranks), device), [&](const Group& group) {
    const RankScope scope(
        RankRows{.group = group, .cut = RowCut(c.graph.in_edges().offsets), .by_parts = true});
    const RankRows& rank = scope.rows();
    std::vector<int32_t> nodes, places;
    for (int64_t i = rank.begin(); i < rank.end(); ++i) nodes.push_back(static_cast<int32_t>(i));
    for (const int32_t i : c.index.to_vector<int32_t>())
      if (i >= rank.begin() && i < rank.end()) places.push_back(i - static_cast<int32_t>(rank.begin()));
    const Rows rows{c.graph.rank_rows(rank), c.x.rows(Tensor::from(nodes)).to(device),
                    c.y.rows(rank.begin(), rank.end()).to(device), Tensor::from(places, device)};
    const auto results = train(family, options, c, rows, dtype, steps);
    const std::lock_guard guard(lock);
    if (first.empty()) first = results;
    bool same = results.size() == first.size();
    for (size_t k = 0; k < results.size() && same; ++k) same = same_bits(results[k], first[k]);
    alike += same;
  });
  return first;
}

struct Named {
  std::string name;
  ModelFamily family;
  ModelOptions options;
  bool featured;
};

std::vector<Named> cases() {
  const auto with = [](ModelOptions o, auto&& change) {
    o.hidden = 8, o.dropout = 0.0, o.layers = 2;
    change(o);
    return o;
  };
  const auto changed = [&](const ModelFamily& family, auto&& change) {
    return with(family.defaults, change);
  };
  std::vector<Named> all;
  all.push_back({"rgcn", rgcn(), changed(rgcn(), [](ModelOptions& o) { o.dropout = 0.3; }), true});
  // A wide output sums before it multiplies, a narrow one after.
  all.push_back(
      {"rgcn wide", rgcn(), changed(rgcn(), [](ModelOptions& o) { o.hidden = 40, o.layers = 3; }), true});
  all.push_back({"bases", rgcn(), changed(rgcn(), [](ModelOptions& o) { o.types.bases = 2; }), true});
  all.push_back({"embeddings", rgcn(),
                 changed(rgcn(), [](ModelOptions& o) { o.types.inputs = TypedInputs::embedding; }), false});
  all.push_back({"one-hot", rgcn(),
                 changed(rgcn(), [](ModelOptions& o) { o.types.inputs = TypedInputs::one_hot; }), false});
  all.push_back(
      {"one-hot bases", rgcn(),
       changed(rgcn(), [](ModelOptions& o) { o.types.inputs = TypedInputs::one_hot, o.types.bases = 2; }),
       false});
  all.push_back({"rgat", rgcn(),
                 changed(rgcn(), [](ModelOptions& o) { o.model = "rgat", o.heads = 2, o.types.bases = 2; }),
                 true});
  all.push_back({"rgat one head", rgcn(),
                 changed(rgcn(), [](ModelOptions& o) { o.model = "rgat", o.hidden = 16; }), true});
  all.push_back({"hgt", hgt(), changed(hgt(), [](ModelOptions& o) { o.heads = 2, o.dropout = 0.2; }), true});
  return all;
}

}  // namespace

TEST_CASE("models of several types over ranks: the bits of one rank in every step") {
  for (const Device device : devices())
    for (const Named& one : cases()) {
      // On a GPU the order of attention's sums depends on the number of edges beside them.
      if (device.is_cuda() && (one.options.model == "rgat" || one.name == "hgt")) continue;
      const TypedCase c(one.featured, DType::f32);
      std::atomic<int> alike = 0;
      const auto wanted = train_over(1, device, one.family, one.options, c, DType::f32, 3, alike);
      for (const int64_t ranks : {2, 3, 8}) {
        CAPTURES(one.name, ranks, device.str());
        alike = 0;
        const auto found = train_over(ranks, device, one.family, one.options, c, DType::f32, 3, alike);
        CHECK(alike == ranks);
        REQUIRE(found.size() == wanted.size());
        for (size_t k = 0; k < found.size(); ++k) {
          CAPTURES(k);
          CHECK(same_bits(found[k], wanted[k]));
        }
      }
    }
}

TEST_CASE("models of several types over ranks: the numbers of one device without ranks") {
  for (const Device device : devices())
    for (Named& one : cases()) {
      one.options.dropout = 0.0;
      const TypedCase c(one.featured, DType::f64);
      const Rows rows{c.graph.to(device), c.x.to(device), c.y.to(device), c.index.to(device)};
      const auto wanted = train(one.family, one.options, c, rows, DType::f64, 1);
      for (const int64_t ranks : {1, 3}) {
        CAPTURES(one.name, ranks, device.str());
        std::atomic<int> alike = 0;
        const auto found = train_over(ranks, device, one.family, one.options, c, DType::f64, 1, alike);
        REQUIRE(found.size() == wanted.size());
        for (size_t k = 0; k < found.size(); ++k) {
          CAPTURES(k);
          // One-hot nodes have float32 means without ranks.
          CHECK(close(found[k], wanted[k], one.options.types.inputs == TypedInputs::one_hot ? 1e-7 : 1e-9));
        }
      }
    }
}
