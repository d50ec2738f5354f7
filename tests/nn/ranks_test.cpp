// Layers, losses and norms over the rows of several ranks, against one rank: in float64, where only the order
// of sums differs.
#include "../kernels/cases.h"
#include "../reference/plain.h"
#include "layers.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/dropout.h>
#include <adjoint/autograd/loss.h>
#include <adjoint/autograd/norm.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/graph/ranks/rank_scope.h>
#include <adjoint/optim/gradient_sums.h>

#include <atomic>

using namespace adj;
using namespace adj::nn;
using namespace adj::test;

namespace {

constexpr double kSame = 1e-11;
constexpr uint64_t kSeed = 91;

/// Loops, parallel edges, nodes without any, one with very many.
Graph skewed_graph(int64_t nodes, Device device, bool weighted) {
  Draw draw(static_cast<uint64_t>(nodes) + 1, Device::cpu());
  const auto uneven = [&](int64_t count) {
    std::vector<int32_t> ids = draw.ints(count, 0, std::max<int64_t>(nodes - 3, 1)).to_vector<int32_t>();
    for (size_t k = 0; k < ids.size(); k += 4) ids[k] = static_cast<int32_t>(nodes / 2);
    return ids;
  };
  std::vector<int32_t> src = uneven(5 * nodes), dst = uneven(5 * nodes);
  for (size_t e = 0; e < src.size(); e += 11) dst[e] = src[e];
  for (size_t e = 1; e < src.size(); e += 9) src[e] = src[e - 1], dst[e] = dst[e - 1];
  const Tensor weight = draw.uniform({5 * nodes}, 0.3, 2.0).to(DType::f32);
  const EdgeAttributes types{{"type", draw.ints(5 * nodes, 0, 3)}};
  return Graph::from_coo(nodes, Tensor::from(src), Tensor::from(dst), weighted ? weight : Tensor(), types)
      .to(device);
}

/// Calls run(rows, group) for each rank.
template <class Run>
void on_ranks(const Graph& graph, Device device, int64_t ranks, Run run) {
  const RowCut cut(graph.in_edges().offsets);
  run_ranks(std::vector<Device>(uz(ranks), device), [&](const Group& group) {
    manual_seed(kSeed);
    const RankScope rank({group, cut});
    run(rank.rows());
  });
}

Tensor local_rows(const RankRows& rows, const Tensor& all) {
  return all.rows(rows.begin(), rows.end()).clone();
}

/// Of a layer that make() returns: its output, the gradients of x and of the parameters. `attr`: of edges, a
/// third argument of the layer unless absent.
template <class Make>
void check_layer(Make make, int64_t width, const Tensor& attr = {}, bool weighted = false) {
  for (const Device device : devices())
    for (const int64_t nodes : {5, 150}) {
      const Graph graph = skewed_graph(nodes, device, weighted);
      Draw draw(8, device);
      const Tensor x = draw.normal({nodes, width});
      const Tensor of_edges = attr ? attr.rows(0, graph.num_edges()).to(device) : Tensor();
      const auto output = [](auto& layer, const Graph& g, const Var& rows, const Tensor& edges) {
        if constexpr (std::is_base_of_v<HGTConv, std::decay_t<decltype(layer)>>) {
          return layer(g, rows, Tensor::full({rows.size(0)}, 1.0, DType::i32, rows.device()));
        } else if constexpr (std::is_base_of_v<GCN2Conv, std::decay_t<decltype(layer)>>) {
          return layer(g, rows, rows);
        } else if constexpr (requires { layer(g, rows, Var()); }) {
          return layer(g, rows, edges ? Var(edges) : Var());
        } else {
          return layer(g, rows);
        }
      };
      manual_seed(kSeed);
      auto whole = make();
      whole.to(device);
      whole.to(DType::f64);
      const Var input = Var::parameter(x);
      const Var y = output(whole, graph, input, of_edges);
      const Tensor dy = draw.normal(y.shape());
      y.backward(dy);
      for (const int64_t ranks : {1, 2, 3, 8}) {
        CAPTURES(whole.describe(), nodes, ranks, device.str());
        std::atomic<int> right = 0;
        on_ranks(graph, device, ranks, [&](const RankRows& rows) {
          auto layer = make();
          layer.to(device);
          layer.to(DType::f64);
          const optim::GradientSums sums(layer.parameters(), rows.group);
          const Graph part = graph.rank_rows(rows);
          const Var mine = Var::parameter(local_rows(rows, x));
          const Var out = output(layer, part, mine, rows.values(graph.in_edges(), of_edges));
          out.backward(local_rows(rows, dy));
          bool same = close(rows.gather(out.value()), y.value(), kSame) &&
                      close(rows.gather(mine.grad()), input.grad(), kSame);
          const auto one = whole.named_parameters(), all = layer.named_parameters();
          for (size_t k = 0; k < all.size(); ++k)
            if (one[k].second.grad()) same = same && close(all[k].second.grad(), one[k].second.grad(), kSame);
          right += same;
        });
        CHECK(right == ranks);
      }
    }
}

}  // namespace

TEST_CASE("layers over ranks give the output and the gradients of one rank") {
  Draw draw(4, Device::cpu());
  const Tensor attr = draw.normal({750, 2}), weight = draw.uniform({750}, 0.3, 2.0);
  SUBCASE("sums by a matrix") {
    for (const bool weighted : {false, true}) {
      check_layer([] { return Model<GCNConv>(4, 3); }, 4, {}, weighted);
      check_layer([] { return Model<GCNConv>(3, 4, GCNConvOptions{.improved = true}); }, 3, {}, weighted);
      check_layer([] { return Model<GraphConv>(4, 3); }, 4, {}, weighted);
    }
    check_layer([] { return Model<GCNConv>(4, 3); }, 4, weight);
    check_layer([] { return Model<SGConv>(4, 3, SGConvOptions{.K = 2}); }, 4);
    check_layer([] { return Model<APPNP>(3, 0.2); }, 4);
    check_layer([] { return Model<TAGConv>(4, 3); }, 4);
    check_layer([] { return Model<GCN2Conv>(4, 0.2); }, 4);
    check_layer([] { return Model<ChebConv>(4, 3, 3); }, 4);
    for (const bool trained : {false, true})
      check_layer(
          [=] {
            return Model<GINConv<>>(GINConvOptions{0.5, trained}, std::vector<int64_t>{4, 3});
          },
          4);
  }
  SUBCASE("reductions") {
    for (const Reduce aggr : {Reduce::sum, Reduce::mean, Reduce::max}) {
      check_layer([=] { return Model<SAGEConv>(4, 3, SAGEConvOptions{.aggr = aggr}); }, 4);
      check_layer([=] { return Model<SAGEConv>(6, 3, SAGEConvOptions{.aggr = aggr, .project = true}); }, 6);
    }
    for (const int64_t out : {2, 9}) check_layer([=] { return Model<RGCNConv>(4, out, 3); }, 4);
    for (const Reduce aggr : {Reduce::sum, Reduce::mean})
      check_layer(
          [=] {
            return Model<RGCNConv>(4, 6, 3, RGCNConvOptions{.blocks = 2, .aggr = aggr, .root_weight = false});
          },
          4);
    check_layer([] { return Model<RGCNConv>(4, 3, 3, RGCNConvOptions{.bases = 2}); }, 4);
    check_layer(
        [] {
          return Model<PNAConv>(4, 4, std::vector<int64_t>{1, 2, 3}, PNAConvOptions{.towers = 2});
        },
        4);
    check_layer(
        [] {
          return Model<GINEConv<>>(4, GINEConvOptions{.edge_dim = 2}, std::vector<int64_t>{4, 3});
        },
        4, attr);
  }
  SUBCASE("attention") {
    for (const bool loops : {false, true}) {
      check_layer([=] { return Model<GATConv>(4, 2, GATConvOptions{.heads = 2, .add_self_loops = loops}); },
                  4);
      check_layer(
          [=] {
            return Model<GATConv>(
                4, 2, GATConvOptions{.heads = 2, .add_self_loops = loops, .edge_dim = 2, .residual = true});
          },
          4, attr);
    }
    for (const bool shared : {false, true})
      check_layer(
          [=] { return Model<GATv2Conv>(4, 2, GATv2ConvOptions{.heads = 2, .share_weights = shared}); }, 4);
    check_layer([] { return Model<GATv2Conv>(4, 2, GATv2ConvOptions{.heads = 2, .edge_dim = 2}); }, 4, attr);
    check_layer([] { return Model<TransformerConv>(4, 2, TransformerConvOptions{.heads = 2, .beta = true}); },
                4);
    check_layer(
        [] { return Model<TransformerConv>(4, 2, TransformerConvOptions{.heads = 2, .edge_dim = 2}); }, 4,
        attr);
    check_layer([] { return Model<AGNNConv>(); }, 4);
    for (const RelationalSoftmax softmax :
         {RelationalSoftmax::across_relation, RelationalSoftmax::within_relation})
      check_layer([=] { return Model<RGATConv>(4, 2, 3, RGATConvOptions{.softmax = softmax, .heads = 2}); },
                  4);
    check_layer([] { return Model<RGATConv>(4, 2, 3, RGATConvOptions{.blocks = 2, .concat = false}); }, 4);
    for (const int64_t out : {4, 6})
      check_layer([=] { return Model<HGTConv>(4, out, 2, 3, HGTConvOptions{.heads = 2}); }, 4);
  }
}

TEST_CASE("batch norm over ranks has the statistics, running statistics and gradients of all rows") {
  for (const Device device : devices())
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      const int64_t nodes = 300;
      const Graph graph = skewed_graph(nodes, device, false);
      Draw draw(9, device);
      const Tensor x = (Var(draw.normal({nodes, 5})) + 3.0).value().to(dtype),
                   dy = draw.normal({nodes, 5}).to(dtype);
      const NormEpilogue epilogue{Activation::relu, 0.3f};
      /// y, dx, dgamma, dbeta, running mean and variance.
      const auto pass = [&](const Tensor& rows, const Tensor& gradient) {
        const DType accumulator = accumulator_dtype(dtype);
        RunningStatistics running{Tensor::full({5}, 0.5, accumulator, device),
                                  Tensor::full({5}, 2.0, accumulator, device), 0.1};
        const Var input = Var::parameter(rows), gamma = Var::parameter(Tensor::full({5}, 1.5, dtype, device)),
                  beta = Var::parameter(Tensor::full({5}, 0.1, dtype, device));
        const Var y = batch_norm(input, gamma, beta, running, true, 1e-5, epilogue);
        y.backward(gradient);
        return std::vector<Tensor>{y.value(),   input.grad(), gamma.grad(),
                                   beta.grad(), running.mean, running.variance};
      };
      manual_seed(kSeed);
      const auto one = pass(x.clone(), dy.clone());
      const double bound = dtype == DType::f64 ? kSame : tolerance(dtype) * 4;
      for (const int64_t ranks : {2, 3, 8}) {
        CAPTURES(ranks, device.str(), name_of(dtype));
        std::atomic<int> right = 0;
        on_ranks(graph, device, ranks, [&](const RankRows& rows) {
          auto all = pass(local_rows(rows, x), local_rows(rows, dy));
          for (const size_t k : {0, 1}) all[k] = rows.gather(all[k]);
          for (const size_t k : {2, 3}) {
            const Tensor stacked = rows.group.gather(all[k].reshape({1, 5}));
            all[k] = sum(Var(stacked.to(DType::f64)), 0).value().to(dtype);
          }
          bool same = true;
          for (size_t k = 0; k < all.size(); ++k)
            same = same && close(all[k], one[k], k == 2 || k == 3 ? bound * 100 : bound);
          right += same;
        });
        CHECK(right == ranks);
      }
    }
}

TEST_CASE("losses over ranks are means over the rows of all, also where a rank has none") {
  for (const Device device : devices()) {
    const int64_t nodes = 300, classes = 4;
    const Graph graph = skewed_graph(nodes, device, false);
    Draw draw(10, device);
    const Tensor x = draw.normal({nodes, classes});
    std::vector<int32_t> labels =
        draw.ints(nodes, 0, classes).to(Device::cpu()).to(DType::i32).to_vector<int32_t>();
    for (size_t i = 0; i < labels.size(); i += 5) labels[i] = -1;
    Numbers targets = values(draw.uniform({nodes, classes}, 0.0, 1.0));
    for (size_t i = 0; i < targets.size(); i += 3) targets[i] = NAN;
    for (size_t i = 0; i < uz(40 * classes); ++i) targets[i] = NAN;  // all of a rank's
    const Tensor label = Tensor::from(labels, device),
                 target = tensor_of(targets, {nodes, classes}, DType::f64, device),
                 weight = tensor_of({0.5, 1, 2, 3}, {classes}, DType::f64, device);
    // The first rows and the last: in between ranks have none.
    std::vector<int32_t> chosen;
    for (int32_t i = 0; i < nodes; ++i)
      if (i < 40 || i > 290) chosen.push_back(i);
    using Loss = std::function<Var(const Var&, const Tensor&, const Tensor&, const Tensor&)>;
    const std::vector<Loss> losses{[&](const Var& out, const Tensor& y, const Tensor&, const Tensor& index) {
                                     return cross_entropy(out, y, index,
                                                          {.weight = weight, .ignore_index = -1});
                                   },
                                   [&](const Var& out, const Tensor&, const Tensor& t, const Tensor& index) {
                                     return bce_with_logits(out, t, index);
                                   },
                                   [&](const Var& out, const Tensor&, const Tensor& t, const Tensor& index) {
                                     return mse_loss(out, t, index);
                                   }};
    for (size_t k = 0; k < losses.size(); ++k)
      for (const bool some : {false, true}) {
        const Tensor index = some ? Tensor::from(chosen, device) : Tensor();
        const Var input = Var::parameter(x.clone());
        const Var one = losses[k](input, label, target, index);
        one.backward();
        for (const int64_t ranks : {2, 3, 8}) {
          CAPTURES(k, some, ranks, device.str());
          std::atomic<int> right = 0;
          on_ranks(graph, device, ranks, [&](const RankRows& rows) {
            std::vector<int32_t> places;
            for (const int32_t i : chosen)
              if (i >= rows.begin() && i < rows.end())
                places.push_back(i - static_cast<int32_t>(rows.begin()));
            const Var mine = Var::parameter(local_rows(rows, x));
            const Var loss = losses[k](mine, local_rows(rows, label), local_rows(rows, target),
                                       some ? Tensor::from(places, device) : Tensor());
            loss.backward();
            right += close(loss.value(), one.value(), kSame) &&
                     close(rows.gather(mine.grad()), input.grad(), kSame);
          });
          CHECK(right == ranks);
        }
      }
    if (!device.is_cpu()) continue;
    const Tensor none = Tensor::full({nodes, classes}, NAN, DType::f64);
    CHECK_ERROR_HAS(on_ranks(graph, device, 2,
                             [&](const RankRows& rows) {
                               (void)mse_loss(Var(local_rows(rows, x)), local_rows(rows, none));
                             }),
                    "no selected row of any rank has a label");
  }
}

TEST_CASE("dropout over ranks draws the masks of one rank for rows, and others for other ranks' edges") {
  for (const Device device : devices()) {
    const int64_t nodes = 300;
    const Graph graph = skewed_graph(nodes, device, false);
    for (const int64_t width : {1, 5, 16}) {
      const Tensor x = Tensor::full({nodes, width}, 1.0, DType::f32, device);
      manual_seed(kSeed);
      const Tensor one = dropout(Var(x), 0.4f).value();
      for (const int64_t ranks : {2, 3, 8}) {
        CAPTURES(width, ranks, device.str());
        std::atomic<int> right = 0;
        on_ranks(graph, device, ranks, [&](const RankRows& rows) {
          right += same_bits(rows.gather(dropout(Var(local_rows(rows, x)), 0.4f).value()), one);
          const Tensor edges = dropout(Var(Tensor::full({1024, 1}, 1.0, DType::f32, device)), 0.5f).value();
          const Tensor all = rows.group.gather(edges.reshape({1, 1024}));
          for (int64_t other = 0; other < ranks; ++other)
            right += other == rows.group.rank() ||
                     !same_bits(all.rows(other, other + 1).reshape({1024, 1}), edges);
        });
        CHECK(right == ranks * (ranks + 1));
      }
    }
  }
}

TEST_CASE("gradients of several passes accumulate over ranks, and parameters without one get zeros") {
  const Graph graph = skewed_graph(150, {}, false);
  const Tensor x = Draw(3, {}).normal({150, 2});
  const auto twice = [&](const Tensor& rows, Var& used, Var& often) {
    const auto loss = [&](const Var& w) { return sum(Var(rows) * w); };
    loss(used).backward();
    (loss(used) + loss(often) * 3.0).backward();
  };
  Var used = Var::parameter(Tensor::full({2}, 1.0, DType::f64)),
      often = Var::parameter(Tensor::full({2}, 2.0, DType::f64));
  twice(x, used, often);
  for (const int64_t ranks : {1, 2, 5}) {
    std::atomic<int> right = 0;
    on_ranks(graph, {}, ranks, [&](const RankRows& rows) {
      Var a = Var::parameter(Tensor::full({2}, 1.0, DType::f64)),
          b = Var::parameter(Tensor::full({2}, 2.0, DType::f64)),
          never = Var::parameter(Tensor::full({3}, 2.0, DType::f64));
      const optim::GradientSums sums({a, b, never}, rows.group);
      twice(local_rows(rows, x), a, b);
      right += close(a.grad(), used.grad(), kSame) && close(b.grad(), often.grad(), kSame) &&
               values(never.grad()) == Numbers{0, 0, 0};
    });
    CHECK(right == ranks);
  }
}
