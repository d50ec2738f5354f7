#include "../apps/small_graphs.h"
#include "bench.h"
#include <adjoint/autograd/loss.h>
#include <adjoint/data/hdf5_file.h>
#include <adjoint/graph/sample/negative_sampling.h>
#include <adjoint/models/node_features.h>

#include <set>

#include <fmt/ranges.h>

using namespace adj;
using namespace adj::test;

// Trainings on whole graphs and on pairs of nodes.

namespace {

/// A training on graphs, begun.
struct OfGraphs {
  Options options{models::graph_gin(), "A test."};
  GraphOptions graphs;
  Dataset data;
  std::optional<Settings> settings;
  std::optional<LearningTask> task;
  std::optional<Run> run;
  std::unique_ptr<models::GraphModel> model;
  std::unique_ptr<optim::Optimizer> adam;
  std::vector<GraphBatch> batches;

  explicit OfGraphs(Dataset dataset) : data(std::move(dataset)) {
    set_log_level(LogLevel::warning);
    graphs.add_to(options);
    options.model.hidden = 4;
    options.model.layers = 2;
  }
  ~OfGraphs() { set_log_level(LogLevel::info); }
  void prepare() {
    settings.emplace(options);
    Examples examples = graph_examples(*settings, graphs, data);
    task.emplace(*settings, data, std::move(examples));
    run.emplace(*settings, *task);
  }
  /// The epochs of the first run, by a step that returns 1, 2, 3, … and keeps its batches.
  std::unique_ptr<Stepped<GraphBatch>> epochs() {
    prepare();
    REQUIRE(run->next_run());
    model = make_model<models::GraphModel>(*settings, *task);
    adam = make_optimizer(*model, settings->run);
    run->begin(*model, *adam);
    return stepped<GraphBatch>(graph_batches(*run, graphs, *model), [this](const GraphBatch& batch) {
      batches.push_back(batch);
      return Var(Tensor::full({}, static_cast<double>(batches.size())));
    });
  }
};

/// Two targets a graph, the second unknown for a third of the graphs; the last two graphs have none.
Dataset regression_graphs() {
  Dataset data = small_graphs();
  std::vector<float> y;
  const float none = std::numeric_limits<float>::quiet_NaN();
  for (int64_t g = 0; g < kGraphs; ++g) {
    const bool without = g >= kGraphs - 2;
    y.push_back(without ? none : static_cast<float>(g));
    y.push_back(without || g % 3 == 0 ? none : static_cast<float>(100 - g));
  }
  data.task = Task::graph_regression;
  data.classes = 0;
  data.unlabelled = 2;
  data.graph_y = Tensor::from(y, {kGraphs, 2});
  return data;
}

std::set<int32_t> set_of(const Tensor& ints) {
  const auto all = ints.to_vector<int32_t>();
  return {all.begin(), all.end()};
}

}  // namespace

TEST_CASE("the rate is halved every N epochs, or never, unless there is a schedule") {
  RunOptions run;
  CHECK_FALSE(run.make_schedule());
  run.lr_halve = 50;
  const std::pair<int64_t, double> expected[] = {{0, 1.0},  {49, 1.0},   {50, 0.5},
                                                 {99, 0.5}, {100, 0.25}, {349, 1.0 / 64}};
  for (const auto& [epoch, factor] : expected) CHECK(run.make_schedule()(epoch) == factor);
  run.warm_up = 3;
  for (const auto& [epoch, factor] : {std::pair<int64_t, double>{0, 0.25}, {2, 0.75}, {3, 1.0}, {53, 0.5}})
    CHECK(run.make_schedule()(epoch) == factor);
  run.schedule = ScheduleKind::linear;
  CHECK(run.make_schedule()(53) == doctest::Approx(1.0 - 50.0 / 197.0));
}

TEST_CASE("a program of graphs has the defaults of its paper, and checks its options") {
  const OfGraphs p(small_graphs());
  CHECK((p.options.data.split == "all" && p.options.run.epochs == 350 && p.options.run.weight_decay == 0.0 &&
         p.options.batches.batch_size == 32 && p.graphs.folds == 10 && p.graphs.iterations == 50 &&
         p.options.run.lr_halve == 50));
  CHECK(p.options.things == "graphs");
  std::vector<std::string> names;
  for (const Option& option : p.options.program_options) names.push_back(option.name);
  CHECK(names == std::vector<std::string>{"folds", "batch-size", "iterations", "lr-halve", "workers"});
  const std::tuple<const char*, const char*, const char*> wrong[] = {
      {"folds", "1", "2"},       {"folds", "1000000001", "1000000000"},
      {"iterations", "-1", "0"}, {"iterations", "1000000001", "1000000000"},
      {"lr-halve", "-1", "0"},   {"lr-halve", "1000000001", "1000000000"}};
  for (const auto& [option, bad, good] : wrong) {
    OfGraphs q(small_graphs());
    Program::set(q.options, {{option, bad}});
    CHECK(error_of<UsageError>([&] {
            (void)Settings(q.options);
          }).starts_with(fmt::format("--{}: expected", option)));
    Program::set(q.options, {{option, good}});
    (void)Settings(q.options);
  }
}

TEST_CASE("folds hold every labelled graph out once, by class, drawn from the seed") {
  Dataset classes = small_graphs();
  auto y = classes.graph_y.to_vector<int32_t>();
  y[7] = -1;
  classes.graph_y = Tensor::from(y);
  classes.unlabelled = 1;
  for (const Dataset& data : {classes, regression_graphs()}) {
    const bool numbers = data.task == Task::graph_regression;
    const std::set<int32_t> without = numbers ? std::set<int32_t>{38, 39} : std::set<int32_t>{7};
    std::vector<std::set<int32_t>> first;
    for (const int64_t seed : {3, 4}) {
      OfGraphs p(data);
      p.graphs.folds = 5;
      p.options.run.seed = seed;
      p.prepare();
      const Examples& examples = p.task->examples;
      CHECK((examples.cross_validated && !examples.splits_in_file && examples.things == "graphs"));
      CHECK(examples.outputs == 2);
      CHECK(examples.unlabelled == data.unlabelled);
      CHECK(examples.task == name_of(data.task));
      CHECK(p.task->metric.option == (numbers ? "r2" : "accuracy"));  // not ROC-AUC for two classes
      CHECK(p.task->runs == 5);
      REQUIRE(examples.splits.size() == 5);
      std::multiset<int32_t> held;
      for (const Split& split : examples.splits) {
        const std::set<int32_t> train = set_of(split.train), out = set_of(split.val);
        CHECK(set_of(split.test) == out);
        CHECK(train.size() + out.size() == kGraphs - without.size());
        for (const int32_t g : out) {
          CHECK(train.count(g) == 0);
          CHECK(without.count(g) == 0);
          held.insert(g);
        }
        for (const int32_t g : train) CHECK(without.count(g) == 0);
        CHECK((out.size() == 7 || out.size() == 8));
        if (numbers) continue;
        const auto ones = std::count_if(out.begin(), out.end(), [](int32_t g) { return g % 2 == 1; });
        CHECK((ones == 3 || ones == 4));
      }
      CHECK(held.size() == kGraphs - without.size());
      CHECK(std::set<int32_t>(held.begin(), held.end()).size() == held.size());
      first.push_back(set_of(examples.splits[0].val));
    }
    CHECK(first[0] != first[1]);
  }
  OfGraphs few(small_graphs());
  few.graphs.folds = 41;
  CHECK(error_of<DataError>([&] { few.prepare(); }) ==
        "shapes: graphs/y: 40 labelled graphs, expected at least as many as the 41 folds of --folds");
  few.graphs.folds = 40;
  few.prepare();
  OfGraphs file_names(split_graphs());
  file_names.prepare();
  CHECK(error_of<UsageError>([&] {
          Settings folds(file_names.options, {{"folds", "10"}});
          GraphOptions five{.folds = 5};
          (void)graph_examples(folds, five, file_names.data);
        }) == "--folds 5: shapes has splits, expected a file without them, or no --folds to train on these");
  CHECK_FALSE(file_names.task->examples.cross_validated);
  CHECK(file_names.task->examples.splits_in_file);
  CHECK(file_names.task->examples.splits.size() == 2);
}

TEST_CASE("an epoch on graphs has N drawn batches of equal weight, or all graphs once by size") {
  for (const int64_t iterations : {0, 5}) {
    CAPTURE(iterations);
    OfGraphs p(split_graphs());
    p.graphs.iterations = iterations;
    p.options.batches.batch_size = 8;
    const auto epochs = p.epochs();
    const double loss = epochs->train(0).item();
    const std::vector<int64_t> sizes =
        iterations > 0 ? std::vector<int64_t>(5, 8) : std::vector<int64_t>{8, 8, 4};
    REQUIRE(p.batches.size() == sizes.size());
    double expected = 0.0;
    std::multiset<int32_t> seen;
    for (size_t k = 0; k < sizes.size(); ++k) {
      CHECK(p.batches[k].size() == sizes[k]);
      expected +=
          static_cast<double>(k + 1) * (iterations > 0 ? 1.0 / 5.0 : static_cast<double>(sizes[k]) / 20.0);
      const auto graphs = p.batches[k].graphs.to_vector<int32_t>(), y = p.batches[k].y.to_vector<int32_t>();
      for (size_t i = 0; i < graphs.size(); ++i) {
        CHECK(y[i] == graphs[i] % 2);
        CHECK(graphs[i] < 20);  // the training graphs
        seen.insert(graphs[i]);
      }
    }
    CHECK(loss == doctest::Approx(expected));
    if (iterations == 0) CHECK(std::set<int32_t>(seen.begin(), seen.end()).size() == 20);
    const auto before = p.batches[0].graphs.to_vector<int32_t>();
    p.batches.clear();
    epochs->train(1);
    CHECK(p.batches[0].graphs.to_vector<int32_t>() != before);
    OfGraphs other(split_graphs());
    other.options.run.seed = 1;
    other.options.batches.batch_size = 8;
    other.epochs()->train(0);
    CHECK(other.batches[0].graphs.to_vector<int32_t>() != before);
  }
}

TEST_CASE("graphs are validated in batches without dropout, and outputs are by graph") {
  for (const Dataset& data : {split_graphs(), [] {
                                Dataset d = regression_graphs();
                                d.splits = split_graphs().splits;
                                d.splits[0].test = range(30, 37);
                                d.splits.resize(1);
                                return d;
                              }()}) {
    OfGraphs p(data);
    p.options.batches.batch_size = 7;
    p.options.model.dropout = 0.5;
    p.options.data.split = "0";
    const auto epochs = p.epochs();
    p.model->eval();
    const NoGrad no_grad;
    const Tensor all = (*p.model)(data.graph, data.graph_offsets, p.task->features).value();
    p.model->train();
    const Objective& objective = p.run->objective();
    const Evaluation now = epochs->validate();
    CHECK(p.model->training());
    CHECK(now.loss.item() ==
          doctest::Approx(plain_loss(labels_of(data.task), all, objective.targets(), data.splits[0].val))
              .epsilon(1e-4));
    const Numbers expected = values(objective.output(all)),
                  zero = values(objective.output(Tensor::zeros({1, 2}))), found = values(now.outputs);
    for (size_t g = 0; g < kGraphs; ++g)
      for (size_t c = 0; c < 2; ++c)  // others than the validated have outputs of 0
        CHECK(found[2 * g + c] ==
              doctest::Approx(g >= 20 && g < 30 ? expected[2 * g + c] : zero[c]).epsilon(1e-4));
    CHECK(close(epochs->outputs(), expected, 1e-4));
  }
}

TEST_CASE("node features of graphs are the file's, constant, or degrees in as many columns as needed") {
  Dataset data = small_graphs();
  const Tensor features = data.x.to_dense();
  const std::vector<std::string> file_names(static_cast<size_t>(data.num_features()), "name");
  data.feature_names = file_names;
  set_node_features(data, "f", models::ModelOptions());
  CHECK(same_bits(data.x.to_dense(), features));
  CHECK(data.feature_names == file_names);
  set_node_features(data, "f", {.node_features = models::NodeFeatures::constant});
  CHECK(data.feature_names.empty());
  CHECK(values(data.x.to_dense()) == Numbers(uz(data.num_nodes()), 1.0));
  for (const int64_t columns : {0, 12}) {
    ModelDescription trained;
    trained.options.node_features = models::NodeFeatures::one_hot_degree;
    trained.num_features = columns;
    set_node_features(data, "f", trained);
    CHECK(data.num_features() == (columns == 0 ? 9 : 12));  // stars of nine nodes: in-degrees to 8
    const auto one_hot = models::node_features(models::NodeFeatures::one_hot_degree, data.graph, columns);
    CHECK(same_bits(data.x.to_dense(), one_hot.to_dense()));
  }
  ModelDescription trained;
  trained.options.node_features = models::NodeFeatures::one_hot_degree;
  trained.num_features = 8;
  CHECK(mentions(error_of<DataError>([&] { set_node_features(data, "f", trained); }), "f: edges: "));
  const auto refused = [](auto&& change, const std::string& message) {
    OfGraphs p(small_graphs());
    change(p);
    CHECK(mentions(error_of<DataError>([&] { p.prepare(); }), message));
  };
  refused([](OfGraphs& p) { p.data.task = Task::node_class; },
          "shapes: attribute task: node_class, train_graph_gin trains graph_class");
  refused([](OfGraphs& p) { p.data.graph_offsets = {}; }, "shapes: graphs/offsets: missing");
  refused([](OfGraphs& p) { p.data.graph_y = {}; }, "shapes: graphs/y: missing");
  refused([](OfGraphs& p) { p.data.x = {}; }, "shapes: nodes/x: missing");
}

namespace {

struct OfLinks {
  Options options{models::link(), "A test."};
  LinkOptions links;
  Dataset data = small_dataset();
  std::optional<Settings> settings;
  std::optional<LearningTask> task;
  std::optional<Run> run;
  std::unique_ptr<models::LinkModel> model;
  std::unique_ptr<optim::Optimizer> adam;

  explicit OfLinks(int64_t seed = 5) {
    set_log_level(LogLevel::warning);
    links.add_to(options);
    options.run.seed = seed;
    options.run.epochs = 2;
    options.model.hidden = options.model.links.embedding = 4;
  }
  ~OfLinks() { set_log_level(LogLevel::info); }
  void begin() {
    settings.emplace(options);
    links.check(*settings);
    Examples examples = link_examples(*settings, links, data);
    task.emplace(*settings, data, std::move(examples), link_metrics(settings->data.metric));
    run.emplace(*settings, *task);
    REQUIRE(run->next_run());
    model = make_model<models::LinkModel>(*settings, *task);
    adam = make_optimizer(*model, settings->run);
    run->begin(*model, *adam);
  }
};

using Pair = std::pair<int32_t, int32_t>;

std::vector<Pair> pairs_of(const Tensor& src, const Tensor& dst) {
  const auto sources = src.to_vector<int32_t>(), targets = dst.to_vector<int32_t>();
  std::vector<Pair> pairs;
  for (size_t k = 0; k < sources.size(); ++k) pairs.emplace_back(sources[k], targets[k]);
  return pairs;
}

std::set<Pair> edges_of(const Graph& graph) {
  const EdgeIndex edges = graph.edge_index();
  const auto all = pairs_of(edges.src, edges.dst);
  return {all.begin(), all.end()};
}

}  // namespace

TEST_CASE("examples of links: shares of the joined pairs with as many free ones, and the rest to train") {
  const Graph whole = small_dataset().graph;
  const std::set<Pair> edges = edges_of(whole);
  const auto joined_pairs = static_cast<int64_t>(edges.size()) / 2;  // undirected, no loops
  OfLinks p;
  p.links.val = 0.1;
  p.links.test = 0.2;
  const Examples examples = link_examples(p.options, p.links, p.data);
  CHECK((examples.things == "pairs" && examples.task == "link" && examples.labels == Labels::several &&
         examples.outputs == 1 && !examples.splits_in_file && !examples.cross_validated));
  REQUIRE(examples.splits.size() == 1);
  const Split& split = examples.splits[0];
  const auto part = [&](double share) {
    return static_cast<int64_t>(std::llround(share * static_cast<double>(joined_pairs)));
  };
  CHECK(split.val.numel() == 2 * part(0.1));
  CHECK(split.test.numel() == 2 * part(0.2));
  CHECK(split.train.numel() == joined_pairs - part(0.1) - part(0.2));
  const auto pairs = pairs_of(examples.pairs.src, examples.pairs.dst);
  const Numbers label = values(examples.y);
  CHECK(examples.size() == std::ssize(pairs));
  std::set<Pair> joined_seen;
  std::multiset<int32_t> parts;
  const std::set<Pair> left = edges_of(p.data.graph);
  for (const auto& [index, trained] :
       {std::pair(split.train, true), {split.val, false}, {split.test, false}}) {
    const auto rows = index.to_vector<int32_t>();
    for (size_t k = 0; k < rows.size(); ++k) {
      const Pair pair = pairs[uz(rows[k])], reverse{pair.second, pair.first};
      parts.insert(rows[k]);
      CHECK(label[uz(rows[k])] == (trained || k < rows.size() / 2 ? 1.0 : 0.0));  // positives first
      CHECK(edges.count(pair) == (label[uz(rows[k])] == 1.0 ? 1 : 0));
      CHECK(left.count(pair) == (trained ? 1 : 0));
      if (label[uz(rows[k])] == 0.0) continue;
      CHECK(joined_seen.insert(pair).second);
      CHECK(joined_seen.count(reverse) == 0);
    }
  }
  CHECK(std::ssize(joined_seen) == joined_pairs);
  CHECK(std::set<int32_t>(parts.begin(), parts.end()).size() == pairs.size());
  OfLinks again, other(6);
  again.links = other.links = p.links;
  CHECK(same_bits(link_examples(again.options, again.links, again.data).pairs.src, examples.pairs.src));
  CHECK_FALSE(same_bits(link_examples(other.options, other.links, other.data).pairs.src, examples.pairs.src));
  for (const auto& [val, test, named] :
       {std::tuple(1e-5, 0.2, "validate"), {0.2, 1e-5, "test"}, {0.6, 0.3999, "train"}}) {
    OfLinks none;
    none.links.val = val;
    none.links.test = test;
    CHECK(mentions(error_of<DataError>([&] { link_examples(none.options, none.links, none.data); }),
                   {fmt::format("small: edges: with --val {} and --test {} of {} connected pairs", val, test,
                                joined_pairs),
                    fmt::format("none is left to {}", named)}));
  }
}

TEST_CASE("links of a directed graph: no pair twice, none joined in the other direction, within one graph") {
  OfLinks p;
  std::vector<int32_t> src, dst;  // from the smaller of 30 nodes, some in both directions
  for (int32_t i = 0; i < 30; ++i)
    for (int32_t j = i + 1; j < 30; j += i % 3 + 1) {
      src.push_back(i), dst.push_back(j);
      if (j % 5 == 0) src.push_back(j), dst.push_back(i);
    }
  p.data.graph = Graph::from_coo(p.data.num_nodes(), Tensor::from(src), Tensor::from(dst));
  const Graph whole = p.data.graph;
  p.links.val = p.links.test = 0.2;
  p.options.model.node_features = models::NodeFeatures::learned;
  const Examples examples = link_examples(p.options, p.links, p.data);
  std::set<Pair> seen, edges = edges_of(whole);
  const auto pairs = pairs_of(examples.pairs.src, examples.pairs.dst);
  for (size_t k = 0; k < pairs.size(); ++k) {
    const auto [a, b] = pairs[k];
    CHECK(seen.insert({std::min(a, b), std::max(a, b)}).second);
    if (values(examples.y)[k] == 0.0) CHECK((edges.count({a, b}) == 0 && edges.count({b, a}) == 0));
  }
  // A trained model is used on the whole graph.
  const LearningTask task(Settings(p.options), p.data, examples, link_metrics("auto", examples), whole);
  CHECK(task.graph == models::fingerprint(whole));
  OfLinks many;
  many.data.graph_offsets = Tensor::from(std::vector<int32_t>{0, 50, 120});
  CHECK(error_of<DataError>([&] { link_examples(many.options, many.links, many.data); }) ==
        "small: graphs/offsets: many graphs, train_link would draw negative pairs between them, expected one "
        "graph");
}

TEST_CASE("hits@K has a K below the number of negatives") {
  OfLinks p;
  p.options.run.seed = 0;
  Examples examples = link_examples(p.options, p.links, p.data);
  const auto name = [&](int64_t negatives, const std::string& wanted) {
    examples.splits[0].val = range(0, static_cast<int32_t>(2 * negatives - 1));
    examples.splits[0].test = range(0, 1000);
    return link_metrics(wanted, examples)[2].option;
  };
  CHECK(name(51, "auto") == "hits@50");
  CHECK(name(50, "auto") == "hits@20");
  CHECK(name(9, "mrr") == "hits@5");
  CHECK(name(1, "auc") == "hits@1");
  CHECK(name(9, "hits@8") == "hits@8");
  CHECK(error_of<UsageError>([&] { name(9, "hits@9"); }) ==
        "--metric hits@9: a part of the split has 9 negative pairs, expected hits@K with K of 8 at most");
}

TEST_CASE("link options are checked, and refused for models that do not take them") {
  const struct {
    double val, test;
    int64_t negatives;
    bool good;
  } cases[] = {{0.05, 0.1, 1, true}, {0.0, 0.1, 1, false},    {0.1, 0.0, 1, false},
               {0.5, 0.5, 1, false}, {0.5, 0.4, 10000, true}, {0.1, 0.1, 10001, false},
               {0.1, 0.1, 0, false}, {-0.1, 0.5, 1, false},   {0.5, -0.1, 1, false}};
  for (const auto& c : cases) {
    OfLinks p;
    p.links.val = c.val, p.links.test = c.test, p.links.negatives = c.negatives;
    CAPTURES(c.val, c.test, c.negatives);
    CHECK(error_of<UsageError>([&] { p.links.check(Settings(p.options)); }).empty() == c.good);
  }
  const struct {
    std::string option;
    std::vector<std::string> models;
  } of_models[] = {{"aggr", {"sage"}},
                   {"heads", {"gat", "rgat", "hgt"}},
                   {"attention-dropout", {"gat", "rgat"}},
                   {"bases", {"rgcn", "rgat"}},
                   {"inputs", {"rgcn", "rgat"}}};
  for (const auto& [option, owners] : of_models)
    for (const std::string model : {"gcn", "sage", "gat", "rgcn", "rgat", "hgt"})
      for (const bool changed : {true, false}) {
        OfLinks p;
        p.options.model.model = model;
        Settings settings(p.options, {{option, "usual"}});
        settings.values[option] = changed ? "other" : "usual";
        CAPTURES(option, model, changed);
        CHECK(error_of<UsageError>([&] { p.links.check(settings); }) ==
              (changed && std::ranges::find(owners, model) == owners.end()
                   ? fmt::format("--{}: requires --model {}", option, fmt::join(owners, " or "))
                   : ""));
      }
  OfLinks split;
  split.options.data.split = "all";
  CHECK(mentions(error_of<UsageError>([&] {
                   split.links.check(Settings(split.options, {{"split", "0"}}));
                 }),
                 "--split all: train_link draws its own split"));
  const OfLinks p;
  CHECK((p.options.things == "pairs of nodes" && p.options.batches.loaders.size() == 1 &&
         p.options.program_options.size() == 4));
}

TEST_CASE("link metrics are counts over positives and negatives") {
  const Tensor score = Tensor::from(std::vector<float>{3, 1, 2, 0, 2.5f, 9}, {6, 1}),
               label = Tensor::from(std::vector<float>{1, 0, 1, 1, 0, 0}, {6, 1}),
               index = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 4});  // without the last
  const auto metrics_of = [&](const std::string& wanted) { return link_metrics(wanted); };
  const auto metrics = metrics_of("auto");
  REQUIRE(metrics.size() == 3);
  CHECK(metrics[0].measure(score, label, index) == doctest::Approx(3.0 / 6.0));  // 3 beats both, 2 beats 1
  CHECK(metrics[1].measure(score, label, index) == doctest::Approx((1.0 + 0.5 + 1.0 / 3.0) / 3.0));
  CHECK(metrics[2].option == "hits@50");
  CHECK(metrics[2].name == "Hits@50");
  CHECK(metrics[2].measure(score, label, index) == 1.0);
  CHECK(metrics_of("hits@1")[2].measure(score, label, index) == doctest::Approx(1.0 / 3.0));
  CHECK(metrics_of("hits@2")[2].measure(score, label, index) == doctest::Approx(2.0 / 3.0));
  CHECK(metrics_of("hits@3")[2].option == "hits@3");
  for (const Metric& metric : metrics)
    CHECK((metric.higher_is_better && metric.low == 0.0 && metric.high == 1.0));
  CHECK((metrics[0].option == "auc" && metrics[1].option == "mrr" && metrics[0].name == "ROC-AUC" &&
         metrics[1].name == "MRR"));
  for (const char* wrong : {"hits@0", "hits@", "hits@-1", "hits@x"})
    CHECK(mentions(error_of<UsageError>([&] { metrics_of(wrong); }), fmt::format("got '{}'", wrong)));
}

TEST_CASE("a full-batch epoch of links has all training pairs, and N free ones for each, drawn anew") {
  for (const int64_t negatives : {1, 3}) {
    OfLinks p;
    p.links.negatives = negatives;
    p.begin();
    std::vector<std::vector<Pair>> drawn;
    const auto epochs =
        stepped<LinkStepBatch>(link_batches(*p.run, p.links, *p.model), [&](const LinkStepBatch& batch) {
          const EdgeIndex ends = batch.pairs.edge_index();
          drawn.push_back(pairs_of(ends.src, ends.dst));
          const auto train = p.run->examples().train.to_vector<int32_t>();
          const auto all = pairs_of(p.run->examples().pairs.src, p.run->examples().pairs.dst);
          const Numbers label = values(batch.label);
          CHECK(drawn.back().size() == train.size() * static_cast<size_t>(1 + negatives));
          CHECK(label.size() == drawn.back().size());
          CHECK(batch.label.dims() == 2);
          const std::set<Pair> edges = edges_of(p.task->data.graph);
          for (size_t k = 0; k < drawn.back().size(); ++k) {
            const Pair pair = drawn.back()[k];
            CHECK(label[k] == (k < train.size() ? 1.0 : 0.0));
            if (k < train.size()) CHECK(pair == all[uz(train[k])]);
            if (k >= train.size()) CHECK((edges.count(pair) == 0 && pair.first != pair.second));
          }
          CHECK(batch.nodes.graph.num_edges() == p.task->data.graph.num_edges());
          return Var(Tensor::full({}, 7.0));
        });
    CHECK(epochs->train(0).item() == 7.0);
    epochs->train(1);
    epochs->train(0);
    CHECK(drawn[0] != drawn[1]);
    CHECK(drawn[0] == drawn[2]);
  }
}

TEST_CASE("embeddings of links are those of evaluation, whatever the dropout") {
  for (const char* loader : {"none", "neighbor"}) {
    OfLinks p;
    p.options.model.dropout = 0.9;
    p.options.batches.loader = loader;
    p.begin();
    const auto batches = link_batches(*p.run, p.links, *p.model);
    const Tensor z = batches->embeddings();
    CHECK(p.model->training());
    p.model->eval();
    CHECK(values(z) == values(p.model->encoder()(p.task->data.graph, p.task->features).value()));
  }
}

TEST_CASE("batches of links weigh by their positives; validation is over the split's pairs") {
  for (const bool batches : {false, true})
    for (const models::Decoder decoder : {models::Decoder::dot, models::Decoder::mlp}) {
      CAPTURES(batches, name_of(decoder));
      OfLinks p;
      p.options.model.model = "sage";
      p.options.model.links.decoder = decoder;
      p.options.model.dropout = 0.6;
      if (batches) p.options.batches.loader = "neighbor";
      p.options.batches.batch_size = 50;
      p.links.negatives = 2;
      p.begin();
      const auto train = p.run->examples().train.numel();
      std::vector<double> positives;
      const auto epochs =
          stepped<LinkStepBatch>(link_batches(*p.run, p.links, *p.model), [&](const LinkStepBatch& batch) {
            const Numbers label = values(batch.label);
            positives.push_back(std::accumulate(label.begin(), label.end(), 0.0));
            CHECK(static_cast<double>(label.size()) == 3.0 * positives.back());
            CHECK(batch.label.shape() == Shape{batch.pairs.num_edges(), 1});
            if (batches) CHECK(batch.nodes.blocks.size() == 2);
            return Var(Tensor::full({}, static_cast<double>(positives.size())));
          });
      double expected = 0.0;
      const double loss = epochs->train(0).item();
      for (size_t k = 0; k < positives.size(); ++k)
        expected += static_cast<double>(k + 1) * positives[k] / static_cast<double>(train);
      CHECK(std::ssize(positives) == (batches ? (train + 49) / 50 : 1));
      CHECK(loss == doctest::Approx(expected));

      const NoGrad no_grad;
      p.model->eval();
      const Tensor z = p.model->encoder()(p.task->data.graph, p.task->features).value();
      const Examples& examples = p.run->examples();
      const auto pairs = pairs_of(examples.pairs.src, examples.pairs.dst);
      Tensor scores;
      if (decoder == models::Decoder::dot) {
        const Dense rows(z);
        std::vector<float> dots;
        for (const auto& [a, b] : pairs) {
          double dot = 0.0;
          for (int64_t c = 0; c < rows.cols; ++c) dot += rows(a, c) * rows(b, c);
          dots.push_back(static_cast<float>(dot));
        }
        scores = Tensor::from(dots, {std::ssize(dots), 1});
      } else {
        scores =
            p.model->scores_of_all(z, Relation::from_coo(120, 120, examples.pairs.src, examples.pairs.dst));
      }
      p.model->train();
      const Evaluation now = epochs->validate();
      CHECK(close(now.outputs, values(scores), 1e-4));
      CHECK(close(epochs->outputs(), values(scores), 1e-4));
      CHECK(now.loss.item() ==
            doctest::Approx(plain_loss(Labels::several, scores, examples.y, examples.val)).epsilon(1e-4));
    }
}

TEST_CASE_FIXTURE(InFolder, "the test pairs are written with score and label, and all metrics are reported") {
  OfLinks p;
  p.options.output.predict = folder.file("p.h5");
  p.options.output.json = true;
  p.begin();
  const auto epochs =
      stepped<LinkStepBatch>(link_batches(*p.run, p.links, *p.model), [&](const LinkStepBatch& batch) {
        const Var z = batch.nodes.forward(p.model->encoder());
        Var loss = bce_with_logits(p.model->scores(z, batch.pairs), batch.label);
        loss.backward();
        p.adam->step();
        return loss;
      });
  for (auto& epoch : p.run->epochs(*epochs->batches))
    for (const LinkStepBatch& batch : epoch) epoch.add(epochs->step(batch));
  write_links(*p.run);
  const H5Reader file = H5Reader::open(p.options.output.predict);
  const auto written =
      pairs_of(file.tensor("pairs/src", {DType::i32}), file.tensor("pairs/dst", {DType::i32}));
  const Numbers score = values(file.tensor("pairs/score", {DType::f32}).to(DType::f64)),
                label = values(file.tensor("pairs/label", {DType::u8}).to(DType::f64));
  const Examples& examples = p.run->examples();
  const auto all = pairs_of(examples.pairs.src, examples.pairs.dst);
  const auto test = examples.test.to_vector<int32_t>();
  REQUIRE(written.size() == test.size());
  for (size_t k = 0; k < test.size(); ++k) {
    CHECK(written[k] == all[uz(test[k])]);
    CHECK(score[k] == values(p.run->output())[uz(test[k])]);
    CHECK(label[k] == values(examples.y)[uz(test[k])]);
  }
  REQUIRE(p.run->record().results[0].reported.size() == 6);
  std::string text = printed(STDOUT_FILENO, [&] { write_results(*p.run); });
  const auto metrics = link_metrics("auto");
  for (size_t k = 0; k < 3; ++k) {
    const double val = metrics[k].measure(p.run->output(), examples.y, examples.val),
                 on_test = metrics[k].measure(p.run->output(), examples.y, examples.test);
    CHECK(p.run->record().results[0].reported[2 * k] == val);
    CHECK(p.run->record().results[0].reported[2 * k + 1] == on_test);
    CHECK(mentions(text, {fmt::format("{}: validation {:.4f}, test {:.4f}\n", metrics[k].name, val, on_test),
                          fmt::format(R"("val_{0}": {1}, "test_{0}": {2}, "test_{0}_std": 0)",
                                      metrics[k].option, val, on_test)}));
  }
}
