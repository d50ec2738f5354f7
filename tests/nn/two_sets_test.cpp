// Layers between two sets of nodes against plain loops over the edges.
#include "../reference/plain.h"
#include "layers.h"

using namespace adj;
using namespace adj::nn;
using namespace adj::test;

namespace {

struct Edge {
  int32_t src, dst;
};

std::vector<Edge> edges_of(const Relation& relation) {
  const auto src = relation.edge_index().src.to_vector<int32_t>(),
             dst = relation.edge_index().dst.to_vector<int32_t>();
  std::vector<Edge> edges;
  for (size_t e = 0; e < src.size(); ++e) edges.push_back({src[e], dst[e]});
  return edges;
}

/// Each node of both sets has one loop.
std::vector<Edge> with_loops(std::vector<Edge> edges, int32_t loops) {
  std::erase_if(edges, [](const Edge& edge) { return edge.src == edge.dst; });
  for (int32_t i = 0; i < loops; ++i) edges.push_back({i, i});
  return edges;
}

/// Softmax of score(edge) over each target's edges, times the sources' values.
template <class Score>
Dense attended(const std::vector<Edge>& edges, int64_t targets, const Dense& value, const Score& score) {
  Dense y(targets, value.cols);
  std::vector<double> total(uz(targets));
  for (const Edge& edge : edges) {
    const double weight = std::exp(score(edge));
    total[uz(edge.dst)] += weight;
    for (int64_t c = 0; c < value.cols; ++c) y(edge.dst, c) += weight * value(edge.src, c);
  }
  for (int64_t i = 0; i < targets; ++i)
    for (int64_t c = 0; c < value.cols; ++c)
      if (total[uz(i)] > 0.0) y(i, c) /= total[uz(i)];
  return y;
}

double dot(const Dense& a, int64_t i, const Dense& b, int64_t j) {
  double sum = 0.0;
  for (int64_t c = 0; c < a.cols; ++c) sum += a(i, c) * b(j, c);
  return sum;
}

/// f(draw, relation, sources' features [·, 4], targets' [·, targets_width]) with either set the larger one.
template <class F>
void on_relations(uint64_t seed, int64_t targets_width, F&& f) {
  on_devices(seed, DType::f64, [&](Draw& draw, Device) {
    for (const auto& [sources, targets] : {std::pair<int64_t, int64_t>{4, 7}, {7, 4}}) {
      CAPTURES(sources, targets);
      const auto m = static_cast<int32_t>(sources), n = static_cast<int32_t>(targets);
      f(draw, Relation::from_coo(sources, targets, draw.ints(20, 0, m), draw.ints(20, 0, n)),
        draw.normal({sources, 4}), draw.normal({targets, targets_width}));
    }
  });
}

}  // namespace

TEST_CASE("AGNNConv between two sets: softmax of beta times the cosine of target and source") {
  on_relations(412, 4, [&](Draw&, const Relation& relation, const Tensor& src, const Tensor& dst) {
    for (const double beta : {1.0, 2.5, -0.5})
      for (const bool loops : {true, false}) {
        CAPTURES(beta, loops);
        Model<AGNNConv> layer(AGNNConvOptions{true, loops});
        layer.to(src.device());
        layer.to(DType::f64);
        layer.beta.set_value(Tensor::full({1}, beta, DType::f64, src.device()));
        const Dense s(src), t(dst);
        std::vector<Edge> edges = edges_of(relation);
        if (loops) edges = with_loops(edges, 4);  // nodes of both sets
        const Dense y = attended(edges, relation.num_dst(), s, [&](const Edge& edge) {
          return beta * dot(t, edge.dst, s, edge.src) /
                 std::sqrt(dot(t, edge.dst, t, edge.dst) * dot(s, edge.src, s, edge.src));
        });
        CHECK(close(layer(relation, Sides{src, dst}).value(), y.data, 1e-6));
      }
  });
}

TEST_CASE("layers that sum over a relation add the target's own features") {
  on_relations(413, 5, [&](Draw& draw, const Relation& relation, const Tensor& src, const Tensor& dst) {
    const auto prepared = [&](auto& layer) {
      layer.to(src.device());
      layer.to(DType::f64);
    };
    const auto plus = [](Dense a, const Dense& b, double factor = 1.0) {
      for (size_t i = 0; i < a.data.size(); ++i) a.data[i] += factor * b.data[i];
      return a;
    };
    const Dense x(src), target(dst);
    const Dense messages = gathered(x, relation.edge_index().src);
    for (const Reduce aggr : {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min}) {
      CAPTURE(static_cast<int>(aggr));
      Model<SAGEConv> sage(Widths(4, 5), 3, {.aggr = aggr});
      prepared(sage);
      const Dense sums = reduced(relation, messages, aggr);
      CHECK(close(sage(relation, Sides{src, dst}).value(),
                  plus(linear_of(sums, sage.lin_l.weight.value(), sage.lin_l.bias.value()),
                       linear_of(target, sage.lin_r->weight.value()))
                      .data,
                  1e-6));
      CHECK(close(sage(relation, Sides{src, Var()}).value(),
                  linear_of(sums, sage.lin_l.weight.value(), sage.lin_l.bias.value()).data, 1e-6));
    }
    Model<GINConv<Linear>> gin(GINConvOptions{.eps = 0.25}, int64_t{4}, int64_t{3});
    prepared(gin);
    const Tensor same = draw.normal({relation.num_dst(), 4});
    const Dense sums = reduced(relation, messages, Reduce::sum);
    const auto mapped_by = [&](const Dense& y) { return linear_of(y, gin.nn.weight.value()).data; };
    CHECK(close(gin(relation, Sides{src, same}).value(), mapped_by(plus(sums, Dense(same), 1.25)), 1e-6));
    CHECK(close(gin(relation, Sides{src, Var()}).value(), mapped_by(sums), 1e-6));
  });
}

TEST_CASE("layers refuse features with another number of rows than sources or targets") {
  Draw draw(414);
  const Relation relation = Relation::from_coo(7, 5, draw.ints(16, 0, 7), draw.ints(16, 0, 5));
  const Var src(draw.normal({7, 4})), dst(draw.normal({5, 4})), few(draw.normal({4, 4})),
      many(draw.normal({6, 4}));
  const auto refuses = [&](auto&& layer) {
    CAPTURE(layer.describe());
    layer.to(DType::f64);
    (void)layer(relation, Sides{src, dst});
    for (const auto& [rows, wrong] : {std::pair<const char*, Var>{"[4, 4]", few}, {"[6, 4]", many}}) {
      CHECK_ERROR_HAS(layer(relation, Sides{src, wrong}),
                      (std::string("features ") + rows + " for a relation of 5 targets").c_str());
      CHECK_ERROR_HAS(layer(relation, Sides{wrong, dst}),
                      (std::string("features ") + rows + " for a relation of 7 sources").c_str());
    }
  };
  const Widths in(4, 4);
  refuses(Model<SAGEConv>(in, 3));
  refuses(Model<GraphConv>(in, 3));
  refuses(Model<GINConv<Linear>>(GINConvOptions{}, int64_t{4}, int64_t{3}));
  refuses(Model<GATConv>(in, 3));
  refuses(Model<GATv2Conv>(in, 3));
  refuses(Model<TransformerConv>(in, 3));
  refuses(Model<AGNNConv>());
}

TEST_CASE("GCNConv and GraphConv use the weights of a block") {
  // Edges 2 -> 0, 1 -> 0, 3 -> 1 and the loop 1 -> 1; each other node has a loop of weight 1.
  const std::vector<float> x{1, 10, 100, 1000};
  const Relation relation = Relation::from_coo(4, 2, Tensor::from(std::vector<int32_t>{2, 1, 3, 1}),
                                               Tensor::from(std::vector<int32_t>{0, 0, 1, 1}));
  const Block bare(relation, Tensor::from(std::vector<int32_t>{0, 1, 2, 3}));
  std::vector<float> by_edge;  // of the relation's numbers
  const auto src = relation.edge_index().src.to_vector<int32_t>();
  for (const int32_t s : src) by_edge.push_back(s == 2 ? 4.0f : s == 3 ? 2.0f : 0.0f);
  const auto dst = relation.edge_index().dst.to_vector<int32_t>();
  for (size_t e = 0; e < src.size(); ++e)
    if (src[e] == 1) by_edge[e] = dst[e] == 0 ? 0.25f : 0.5f;
  const Block block = bare.with_edge_data(Tensor::from(by_edge), {});
  const Var features(Tensor::from(x, {4, 1}));
  const auto close = [](const Var& y, double first, double second) {
    const auto found = y.value().to_vector<float>();
    CHECK(found[0] == doctest::Approx(first));
    CHECK(found[1] == doctest::Approx(second));
  };
  const auto fill = [](const Var& parameter, double value) { Tensor(parameter.value()).fill_(value); };
  nn::Model<GCNConv> gcn(1, 1);
  fill(gcn.weight, 1.0);
  const double d0 = 4 + 0.25 + 1, d1 = 2 + 0.5;  // sources 2 and 3 have their loop only
  close(gcn(block, features), 4 * 100 / std::sqrt(d0) + 0.25 * 10 / std::sqrt(d0 * d1) + 1 / d0,
        2 * 1000 / std::sqrt(d1) + 0.5 * 10 / d1);
  close(gcn(bare, features), 100 / std::sqrt(3.0) + 10 / std::sqrt(3.0 * 2.0) + 1 / 3.0,
        1000 / std::sqrt(2.0) + 10 / 2.0);
  nn::Model<GraphConv> sum(1, 1);
  fill(sum.lin_rel.weight, 1.0);
  fill(sum.lin_rel.bias, 0.0);
  fill(sum.lin_root.weight, 0.0);
  close(sum(block, features), 4 * 100 + 0.25 * 10, 2 * 1000 + 0.5 * 10);
  close(sum(bare, features), 110, 1010);
}
