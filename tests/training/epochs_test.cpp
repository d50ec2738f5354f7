#include "bench.h"
#include <adjoint/core/explain.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/compute_context.h>

#include <set>

using namespace adj;
using namespace adj::test;

// One epoch of each kind: the batches that a step gets, and what their losses add up to.

namespace {

/// A step that returns 1, 2, 3, … as losses, computes nothing, and keeps its batches.
struct Recorder {
  std::vector<NodeBatch> batches;
  std::vector<std::vector<Block>> blocks;
  NodeStep step() {
    return [this](const NodeBatch& batch) {
      batches.push_back(batch);
      blocks.emplace_back(batch.blocks.begin(), batch.blocks.end());
      return Var(Tensor::full({}, static_cast<double>(batches.size())));
    };
  }
};

std::multiset<int32_t> set_of(const Tensor& ints) {
  const auto all = ints.to_vector<int32_t>();
  return {all.begin(), all.end()};
}

Dataset weighted(Dataset data) {
  std::vector<float> weight;
  for (int64_t e = 0; e < data.graph.num_edges(); ++e) weight.push_back(1.0f + static_cast<float>(e % 7));
  data.graph = data.graph.with_edge_weight(Tensor::from(weight));
  return data;
}

NodeStep no_step() {
  return [](const NodeBatch&) { return Var(Tensor::zeros({})); };
}

}  // namespace

TEST_CASE(
    "a full-batch epoch is one step on the graph; its loss, validation and outputs are a plain loop's") {
  for (const Dataset& data : {small_dataset(), small_multilabel_dataset(), small_regression_dataset()}) {
    Program p(data, models::gcn(), {{"layers", "1"}, {"dropout", "0.5"}, {"features-scaling", "none"}});
    int steps = 0;
    const auto epochs = p.first_epochs([&](const NodeBatch& batch) {
      ++steps;
      CHECK(p.model->training());
      CHECK(batch.graph.num_edges() == data.graph.num_edges());
      CHECK(same_bits(batch.index, data.train));
      CHECK_FALSE(batch.weight);
      p.model->eval();  // without dropout
      const Var loss = p.run->objective().loss_of_batch(batch.forward(*p.model), batch.y, batch.index);
      p.model->train();
      return loss;
    });
    const EdgeIndex edges = data.graph.edge_index();
    const auto parameters = p.model->named_parameters();
    const Dense out = plus_row(
        gcn_of(120, edges.src, edges.dst) * (Dense(data.x.to_dense()) * Dense(parameters[0].second.value())),
        parameters[1].second.value());
    Tensor logits = Tensor::zeros({120, 3});
    for (size_t i = 0; i < 360; ++i) logits.mutable_data<float>()[i] = static_cast<float>(out.data[i]);
    const Labels labels = labels_of(data.task);
    const Tensor& y = p.run->objective().targets();
    for (int64_t done = 0; done < 3; ++done)
      CHECK(epochs->train(done).item() ==
            doctest::Approx(plain_loss(labels, logits, y, data.train)).epsilon(1e-4));
    CHECK(steps == 3);
    const Evaluation now = epochs->validate();
    CHECK(now.loss.item() == doctest::Approx(plain_loss(labels, logits, y, data.val)).epsilon(1e-4));
    CHECK(close(now.outputs, values(p.run->objective().output(logits)), 1e-4));
    CHECK(close(epochs->outputs(), values(p.run->objective().output(logits)), 1e-4));
    CHECK(p.model->training());
  }
}

TEST_CASE("training is a plain loop: a step of Adam on the loss, then an evaluation, in each epoch") {
  const Dataset data = small_dataset();
  Program p(data, models::gcn(),
            {{"layers", "1"}, {"dropout", "0"}, {"epochs", "3"}, {"lr", "0.05"}, {"seed", "3"}});
  p.prepare();
  manual_seed(3);
  const auto model = make_model(*p.settings, *p.task);
  optim::Adam adam(model->parameters(), {.lr = 0.05});
  std::vector<EpochRecord> expected;
  for (int epoch = 1; epoch <= 3; ++epoch) {
    const Var loss = cross_entropy((*model)(data.graph, p.task->features), data.y, data.train);
    loss.backward();
    adam.step();
    const NoGrad scope;
    const Var out = (*model)(data.graph, p.task->features);
    expected.push_back({.run = 0,
                        .epoch = epoch,
                        .train_loss = loss.item(),
                        .val_loss = cross_entropy(out, data.y, data.val).item(),
                        .val_metric = nn::accuracy(out.value(), data.y, data.val)});
  }
  p.learn();
  check_same({.history = expected, .results = p.results()}, p.run->record());
}

TEST_CASE("an inductive epoch has the input's edges, weights and attributes, sorted or as a list") {
  // Three edges that from_coo sorts in another order: by target, then source.
  const Tensor src = Tensor::from(std::vector<int32_t>{3, 0, 2, 1}),
               dst = Tensor::from(std::vector<int32_t>{2, 1, 0, 0}),
               weight = Tensor::from(std::vector<float>{1, 2, 3, 4});
  const Graph graph = Graph::from_coo(4, src, dst, weight,
                                      {{"attr", Tensor::from(std::vector<float>{10, 20, 30, 40}, {4, 1})}});
  Program p;
  p.prepare();
  REQUIRE(p.next_run());
  for (const Aggregation method : {Aggregation::scatter, Aggregation::reduce}) {
    compute_context().aggregation = method;
    const bool scatters = method == Aggregation::scatter;
    const training::EdgeList list(graph, *p.model, DType::f32);
    CHECK(list.scatters() == scatters);
    const Graph result = list.graph();
    CHECK(result.num_nodes() == 4);
    const EdgeIndex edges = result.edge_index();
    if (scatters) {
      CHECK(same_bits(edges.src, src));
      CHECK(same_bits(edges.dst, dst));
      CHECK(same_bits(result.edge_weight(), weight));
      CHECK(values(result.edge_attr("attr")) == Numbers{10, 20, 30, 40});
    } else {
      CHECK(same_bits(result.input_order(), graph.input_order()));
      CHECK(values(result.edge_weight()) == Numbers{4, 3, 2, 1});
      CHECK(values(result.edge_attr("attr")) == Numbers{40, 30, 20, 10});
      CHECK(values(edges.src) == Numbers{1, 2, 0, 3});
    }
  }
  // A graph that is a relation already has no other order.
  const training::EdgeList kept(Graph(Relation::from_coo(4, 4, src, dst), weight), *p.model, DType::f32);
  CHECK(kept.graph().num_edges() == 4);
  // Attention has no sums for a list.
  Program gat(small_dataset(), models::gat(), {{"inductive", "true"}, {"aggregation", "reduce"}});
  gat.prepare();
  CHECK_FALSE(gat.task->edges->scatters());
  CHECK(std::string(gat.task->aggregation()) == "reduce");
  for (const char* method : {"scatter", "measure"}) {
    gat.set({{"aggregation", method}});
    CHECK(mentions(error_of<UsageError>([&] { gat.prepare(); }),
                   {fmt::format("--aggregation {}: GAT ", method), "has no sums"}));
  }
}

TEST_CASE("sampled batches have the weights that drew them only for a model that takes weights") {
  Dataset data = weighted(small_dataset());
  data.graph = data.graph.with_edge_attr("attr", Tensor::full({data.graph.num_edges(), 2}, 1.0));
  for (const auto& [family, uses] : {std::pair{&models::gcn, true}, {&models::sage, false}}) {
    Program p(data, family(), {{"loader", "neighbor"}, {"weighted-sampling", "true"}});
    Recorder recorder;
    (void)p.first_epochs(recorder.step())->train(0);
    CHECK(!recorder.blocks.empty());
    for (const std::vector<Block>& blocks : recorder.blocks)
      for (const Block& block : blocks) {
        CHECK(static_cast<bool>(block.edge_weight()) == uses);
        CHECK(block.edge_attributes().empty());
      }
  }
}

TEST_CASE("an inductive training makes its graph anew in every epoch, of its own list, and trains the same") {
  for (const char* method : {"reduce", "scatter"}) {
    CAPTURE(std::string(method));
    Program p(weighted(small_dataset()), models::gcn(),
              {{"inductive", "true"}, {"dropout", "0"}, {"epochs", "3"}});
    compute_context().aggregation =
        method == std::string("reduce") ? Aggregation::reduce : Aggregation::scatter;
    Recorder recorder;
    const auto epochs = p.first_epochs(recorder.step());
    CHECK(std::string(p.task->aggregation()) == method);
    for (int64_t done = 0; done < 2; ++done) epochs->train(done);
    CHECK(&recorder.batches[0].graph.relation() != &recorder.batches[1].graph.relation());
    Program whole(weighted(small_dataset()), models::gcn(), {{"dropout", "0"}, {"epochs", "3"}});
    p.learn();
    whole.learn();
    for (size_t e = 0; e < 3; ++e)
      CHECK(p.history()[e].train_loss == doctest::Approx(whole.history()[e].train_loss).epsilon(1e-3));
  }
  // The rule is asked for the sums of a step and an evaluation: 3 L - 1 of the mean width.
  set_explaining(true);
  Program p(small_dataset(), models::gcn(), {{"inductive", "true"}, {"layers", "3"}, {"hidden", "9"}});
  p.prepare();
  std::string output;
  for (const std::string& line : explanations()) output += line + "\n";
  set_explaining(false);
  CHECK(mentions(output, "for 8 sums of width 7"));  // widths 9, 9, 3
}

TEST_CASE("--aggregation measure takes the faster method, and says what it measured") {
  Program p(small_dataset(), models::gcn(), {{"inductive", "true"}, {"aggregation", "measure"}});
  set_explaining(true);
  const std::string output = printed(STDERR_FILENO, [&] { set_log_level(LogLevel::info), p.prepare(); });
  std::string told;
  for (const std::string& line : explanations()) told += line + "\n";
  set_explaining(false);
  const size_t position = output.find("aggregation measured, ");
  REQUIRE(position != std::string::npos);
  char method[16] = {};
  double reduce = 0.0, scatter = 0.0;
  REQUIRE(std::sscanf(output.c_str() + position,
                      "aggregation measured, %15[a-z]: a step takes %lg ms by reduce, including the sort, "
                      "%lg ms by scatter",
                      method, &reduce, &scatter) == 3);
  CHECK(reduce > 0.0);
  CHECK(scatter > 0.0);
  if (reduce != scatter) CHECK(method == std::string(scatter < reduce ? "scatter" : "reduce"));
  CHECK(std::string(p.task->aggregation()) == method);
  CHECK(mentions(told, "a step takes "));
}

TEST_CASE("neighbour batches cover the training nodes, and their losses have the weight of their seeds") {
  Program p(small_dataset(), models::sage(),
            {{"loader", "neighbor"}, {"batch-size", "7"}, {"fanouts", "3,2"}, {"seed", "5"}});
  Recorder recorder;
  const auto epochs = p.first_epochs(recorder.step());
  std::vector<std::vector<int32_t>> orders;
  for (int64_t done = 0; done < 2; ++done) {
    recorder = {};
    const double loss = epochs->train(done).item();
    REQUIRE(recorder.batches.size() == 4);  // of 24 nodes
    double expected = 0.0;
    std::multiset<int32_t> seeds;
    orders.emplace_back();
    for (size_t k = 0; k < 4; ++k) {
      REQUIRE(recorder.blocks[k].size() == 2);
      const Tensor targets = recorder.blocks[k][1].dst_nodes();
      CHECK(targets.numel() == (k < 3 ? 7 : 3));
      expected += static_cast<double>(k + 1) * static_cast<double>(targets.numel()) / 24.0;
      const auto rows = targets.to_vector<int32_t>();
      for (size_t i = 0; i < rows.size(); ++i) {
        seeds.insert(rows[i]);
        orders.back().push_back(rows[i]);
        CHECK(values(recorder.batches[k].y)[i] == values(p.data.y)[uz(rows[i])]);
      }
      CHECK_FALSE(recorder.batches[k].index);
      for (const auto& [layer, most] : {std::pair(1, 3.0), {0, 2.0}})  // the first fan-out is the seeds'
        for (const double degree : values(recorder.blocks[k][uz(layer)].relation().in_degrees()))
          CHECK(degree <= most);
    }
    CHECK(loss == doctest::Approx(expected));
    CHECK(seeds == set_of(p.data.train));
  }
  CHECK(orders[0] != orders[1]);  // shuffled in every epoch
  Program other(small_dataset(), models::sage(),
                {{"loader", "neighbor"}, {"batch-size", "7"}, {"seed", "6"}});
  Recorder another;
  other.first_epochs(another.step())->train(0);
  CHECK(another.blocks[0][1].dst_nodes().to_vector<int32_t>() !=
        std::vector<int32_t>(orders[0].begin(), orders[0].begin() + 7));
}

TEST_CASE("fan-outs are numbers by layer, or one for all; sampling follows its options") {
  using Fanouts = std::vector<int64_t>;
  CHECK(fanouts_of("15,10,5") == Fanouts{15, 10, 5});
  CHECK(fanouts_of("1") == Fanouts{1});
  CHECK(fanouts_of("-1,1000000000") == Fanouts{-1, 1'000'000'000});
  for (const char* wrong : {"", "0", "-2", "1,", ",1", "1,,2", "x", "1.5", "1000000001", "3 4"}) {
    CAPTURE(std::string(wrong));
    CHECK(mentions(error_of<UsageError>([&] { fanouts_of(wrong); }), fmt::format("got '{}'", wrong)));
  }
  const auto sampling = [](const Program::OptionTexts& settings, int64_t layers) {
    Program p(small_dataset(), models::sage(), settings);
    const auto neighbor = std::dynamic_pointer_cast<NeighborLoading>(p.options.batches.loaders[0]);
    neighbor->check(Settings(p.options));
    return neighbor->sampling(layers);
  };
  const NeighborSampling usual = sampling({}, 2);
  CHECK(usual.fanouts == Fanouts{10, 10});
  CHECK_FALSE((usual.replace || usual.weighted || usual.labor));
  CHECK(sampling({{"fanouts", "4"}, {"layers", "3"}}, 3).fanouts == Fanouts{4, 4, 4});
  CHECK(sampling({{"replace", "true"}}, 2).replace);
  CHECK(sampling({{"weighted-sampling", "true"}}, 2).weighted);
  CHECK(sampling({{"labor", "true"}}, 2).labor);
  const std::pair<Program::OptionTexts, std::string> refused[] = {
      {{{"fanouts", "4,3,2"}}, "--fanouts: 3 numbers, expected one, or one for each of 2 layers"},
      {{{"labor", "true"}, {"replace", "true"}}, "--labor: conflicts with --replace"},
      {{{"labor", "true"}, {"weighted-sampling", "true"}}, "--labor: conflicts with --weighted-sampling"}};
  for (const auto& [settings, message] : refused)
    CHECK(error_of<UsageError>([&] { sampling(settings, 2); }) == message);
  Program p(small_dataset(), models::sage(), {{"loader", "neighbor"}, {"weighted-sampling", "true"}});
  CHECK(error_of<DataError>([&] { p.prepare(); }) ==
        "small: edges/weight: missing, --weighted-sampling needs weights");
  p.data = weighted(p.data);
  p.prepare();
}

TEST_CASE("mini-batch trainings evaluate all nodes without dropout, layer by layer or on the graph") {
  for (const char* evaluation : {"auto", "layers", "graph"})
    for (const bool sage : {true, false}) {
      CAPTURES(std::string(evaluation), sage);
      Program p(
          small_dataset(), sage ? models::sage() : models::gcn(),
          {{"loader", "neighbor"}, {"evaluation", evaluation}, {"batch-size", "13"}, {"dropout", "0.9"}});
      if (!sage && evaluation == std::string("layers")) {
        CHECK(mentions(error_of<UsageError>([&] { p.first_epochs(no_step()); }),
                       "--evaluation layers: GCN 40-4-3 needs whole graphs, expected --evaluation graph"));
        continue;
      }
      const auto epochs = p.first_epochs(no_step());
      CHECK(p.settings->batches.evaluation ==
            (evaluation == std::string("graph") || (!sage && evaluation == std::string("auto"))
                 ? EvaluationMethod::graph
                 : EvaluationMethod::layers));
      CHECK(p.settings->evaluation_chosen == (evaluation == std::string("auto") && !sage));
      p.model->eval();
      const NoGrad no_grad;
      const Tensor logits = (*p.model)(p.task->data.graph, p.task->features).value();
      p.model->train();
      const Evaluation now = epochs->validate();
      CHECK(close(now.outputs, values(logits), 1e-5));
      CHECK(close(epochs->outputs(), values(logits), 1e-5));
      CHECK(now.loss.item() ==
            doctest::Approx(plain_loss(Labels::classes, logits, p.data.y, p.data.val)).epsilon(1e-4));
      CHECK(p.model->training());
    }
}

TEST_CASE("an epoch of clusters has every part once, and weighs batches by their training nodes") {
  Dataset data = small_dataset();
  std::vector<int32_t> part;
  for (int32_t i = 0; i < 120; ++i) part.push_back(i % 7);
  data.part = Tensor::from(part);
  data.train = data.train.rows(0, 9).clone();  // some batches are without
  data.splits[0].train = data.train;
  Program p(data, models::gcn(), {{"loader", "cluster"}, {"parts-per-batch", "1"}, {"seed", "5"}});
  Recorder recorder;
  const auto epochs = p.first_epochs(recorder.step());
  std::vector<Numbers> sizes;
  for (int64_t done = 0; done < 2; ++done) {
    recorder = {};
    const double loss = epochs->train(done).item();
    double sum = 0.0, all = 0.0;
    sizes.emplace_back();
    for (size_t k = 0; k < recorder.batches.size(); ++k) {
      const NodeBatch& batch = recorder.batches[k];
      const auto seeds = static_cast<double>(batch.index.numel());
      CHECK(seeds > 0.0);
      CHECK_FALSE(batch.weight);
      sizes.back().push_back(values(batch.y)[0] + 10.0 * static_cast<double>(batch.graph.num_edges()));
      sum += seeds * static_cast<double>(k + 1);
      all += seeds;
    }
    CHECK(all == 9.0);
    CHECK(loss == doctest::Approx(sum / all));
  }
  CHECK(sizes[0] != sizes[1]);  // in another order
  Program two(data, models::gcn(), {{"loader", "cluster"}, {"parts-per-batch", "4"}});
  Recorder of_two;
  two.first_epochs(of_two.step())->train(0);
  CHECK(of_two.batches.size() == 2);  // seven parts
}

TEST_CASE("clusters are the file's, or as many parts of METIS as requested, or one for each 128 nodes") {
  const auto parts_of = [](Dataset data, int64_t parts) {
    partition_for_clusters(data, parts);
    return *std::max_element(data.part.data<int32_t>(), data.part.data<int32_t>() + data.part.numel()) + 1;
  };
  set_log_level(LogLevel::warning);
  Dataset data = small_dataset();
  CHECK(parts_of(data, 0) == 1);
  CHECK(parts_of(data, 9) == 9);
  Dataset large = make_planted_dataset({.nodes = 128 * 5 - 1});
  CHECK(parts_of(large, 0) == 4);
  large.part = Tensor::zeros({large.num_nodes()}, DType::i32);
  CHECK(parts_of(large, 0) == 1);
  CHECK(parts_of(large, 3) == 3);
  const std::string output =
      printed(STDERR_FILENO, [&] { set_log_level(LogLevel::info), parts_of(data, 2); });
  std::array<int64_t, 5> n{};
  REQUIRE(std::sscanf(output.c_str(),
                      "%ld parts of %ld to %ld nodes by METIS, %ld of %ld edges between parts", &n[0], &n[1],
                      &n[2], &n[3], &n[4]) == 5);
  CHECK((n[0] == 2 && n[1] + n[2] == 120 && n[1] <= n[2] && n[4] == data.graph.num_edges()));
}

TEST_CASE(
    "subgraph batches weigh their nodes, or are weighed by them; none with a training node is an error") {
  for (const char* coverage : {"0", "3"}) {
    CAPTURE(std::string(coverage));
    Program p(small_dataset(), models::gcn(),
              {{"loader", "saint"}, {"budget", "4"}, {"steps", "12"}, {"coverage", coverage}, {"seed", "2"}});
    Recorder recorder;
    const double loss = p.first_epochs(recorder.step())->train(0).item();
    CHECK(recorder.batches.size() <= 12);
    double sum = 0.0, seeds = 0.0;
    for (size_t k = 0; k < recorder.batches.size(); ++k) {
      const NodeBatch& batch = recorder.batches[k];
      const bool has_weight{batch.weight};
      CHECK(has_weight == (coverage == std::string("3")));
      if (has_weight) CHECK(batch.weight.numel() == batch.index.numel());
      const double share = has_weight ? 1.0 : static_cast<double>(batch.index.numel());
      sum += share * static_cast<double>(k + 1);
      seeds += share;
    }
    // With weights a subgraph without a training node counts as a loss of 0.
    CHECK(loss == doctest::Approx(sum / (coverage == std::string("3") ? 12.0 : seeds)));
  }
  Program p(small_dataset(), models::gcn(),
            {{"loader", "saint"}, {"budget", "1"}, {"walk-length", "0"}, {"steps", "1"}});
  p.data.train = p.data.train.rows(0, 1).clone();
  p.data.splits[0].train = p.data.train;
  const auto epochs = p.first_epochs(no_step());
  int64_t done = 4;
  const std::string message = error_of([&] {
    while (true) epochs->train(++done);
  });
  CHECK(message ==
        fmt::format(
            "epoch {}: no training node in any of 1 subgraphs; expected more --steps or a larger --budget",
            done + 1));
}

TEST_CASE("the sampler's options decide its subgraphs") {
  const auto sizes = [](Program::OptionTexts settings) {
    settings.insert(settings.begin(), {{"loader", "saint"}, {"coverage", "0"}});
    Program p(small_dataset(), models::gcn(), settings);
    Recorder recorder;
    p.first_epochs(recorder.step())->train(0);
    int64_t most = 0;
    for (const NodeBatch& batch : recorder.batches) most = std::max(most, batch.graph.num_nodes());
    return std::pair(std::ssize(recorder.batches), most);
  };
  CHECK(sizes({{"saint", "node"}, {"budget", "60"}, {"steps", "1"}}).second <= 60);
  const auto edge = sizes({{"saint", "edge"}, {"budget", "30"}, {"steps", "3"}});
  CHECK(edge.first <= 3);
  CHECK((edge.second > 30 && edge.second <= 60));
  const auto roots = sizes({{"saint", "walk"}, {"budget", "30"}, {"walk-length", "0"}, {"steps", "5"}});
  CHECK(roots.second <= 30);
  CHECK(sizes({{"budget", "30"}, {"walk-length", "3"}, {"steps", "5"}}).second > 30);
  CHECK(sizes({{"budget", "40"}, {"walk-length", "0"}}).first == 3);  // 120 nodes in all
}

TEST_CASE("subgraphs have the data's edge weights for layers that read them, and for no others") {
  const auto weights = [](models::ModelFamily family, const Dataset& data,
                          const Program::OptionTexts& more = {}) {
    Program p(data, std::move(family),
              {{"loader", "saint"}, {"budget", "20"}, {"steps", "2"}, {"coverage", "4"}});
    p.set(more);
    Recorder recorder;
    p.first_epochs(recorder.step())->train(0);
    std::vector<Numbers> all;
    for (const NodeBatch& batch : recorder.batches)
      all.push_back(batch.graph.edge_weight() ? values(batch.graph.edge_weight()) : Numbers{});
    return all;
  };
  const Dataset plain = small_dataset(), with_weights = weighted(small_dataset());
  for (const auto& family : {models::sage, models::gin})  // means and plain sums ignore them
    CHECK(weights(family(), with_weights) == weights(family(), plain));
  CHECK(weights(models::gcn(), with_weights) != weights(models::gcn(), plain));
  // Attention and maxima, which no matrix describes: the graph's own, unless there are none.
  CHECK(weights(models::gat(), plain)[0].empty());
  const auto graph_weights = weights(models::gat(), with_weights);
  for (const double w : graph_weights[0]) CHECK((w == std::floor(w) && w >= 1.0 && w <= 7.0));
  CHECK(weights(models::sage(), plain, {{"aggr", "max"}})[0].empty());
  CHECK(weights(models::sage(), plain, {{"coverage", "0"}})[0].empty());
}

TEST_CASE("only the whole graph is a constant batch, unless it is made anew or capture is off") {
  const std::pair<Program::OptionTexts, bool> cases[] = {{{}, true},
                                                         {{{"no-capture", "true"}}, false},
                                                         {{{"inductive", "true"}}, false},
                                                         {{{"loader", "neighbor"}}, false},
                                                         {{{"loader", "cluster"}}, false},
                                                         {{{"loader", "saint"}}, false}};
  for (const auto& [texts, constant] : cases) {
    Program p(small_dataset(), models::sage(), texts);
    CHECK(p.first_epochs(no_step())->batches->constant() == constant);
  }
}

TEST_CASE("a loop over epochs and batches may be left early; an epoch without a loss has no mean") {
  Program p(small_dataset(), models::sage(), {{"loader", "neighbor"}, {"batch-size", "7"}, {"epochs", "3"}});
  const auto epochs = p.first_epochs(no_step());
  std::vector<int64_t> done;
  for (auto& epoch : p.run->epochs(*epochs->batches)) {
    done.push_back(epoch.done());
    for (const NodeBatch& batch : epoch) {
      epoch.add(Tensor::full({}, 3.5));
      CHECK(batch.blocks.size() == 2);
      break;  // the mean is of one of four batches
    }
    if (done.size() == 2) break;
  }
  CHECK(done == std::vector<int64_t>{0, 1});
  REQUIRE(p.history().size() == 1);
  CHECK(p.history()[0].train_loss == doctest::Approx(3.5 * 7.0 / 24.0));
  CHECK(p.results().empty());
  Epoch<NodeBatch> empty(*epochs->batches, 4);
  CHECK(error_of([&] { (void)empty.mean(); }) == "epoch 5: no batch's loss was added");
}
