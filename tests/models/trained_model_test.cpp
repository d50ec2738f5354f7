#include "random_models.h"
#include <adjoint/models/c_api/adjoint.h>
#include <adjoint/models/link.h>
#include <adjoint/models/node_features.h>
#include <adjoint/models/trained_model.h>
#include <adjoint/ops.h>

#include <cmath>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kNodes = 12, kIn = 4, kOut = 3;

/// The model of a checkpoint with the weights under `prefix`, in evaluation mode.
std::unique_ptr<models::Model> model_in(const models::Checkpoint& checkpoint,
                                        const models::ModelFamily& family,
                                        const models::ModelOptions& options, const std::string& prefix) {
  auto model = family.make(checkpoint.integer("features"), checkpoint.integer("outputs"), options);
  model->load_state(checkpoint.with_prefix(prefix));
  model->eval();
  return model;
}

/// The same numbers in another layout, for adjoint_graph.
struct Arrays {
  std::vector<int64_t> src, dst;
  std::vector<float> weight, x;
  adjoint_graph graph;

  Arrays(const Graph& g, const Tensor& features)
      : src(g.edge_index().src.to(DType::i64).to_vector<int64_t>()),
        dst(g.edge_index().dst.to(DType::i64).to_vector<int64_t>()),
        weight(g.edge_weight() ? g.edge_weight().to_vector<float>() : std::vector<float>()),
        x(features ? features.to_vector<float>() : std::vector<float>()),
        graph{g.num_nodes(),
              g.num_edges(),
              src.data(),
              dst.data(),
              weight.empty() ? nullptr : weight.data(),
              x.empty() ? nullptr : x.data()} {}
};

struct Loaded {
  adjoint_model* model;
  explicit Loaded(const std::string& path) : model(adjoint_load(path.c_str(), nullptr)) {
    REQUIRE_MESSAGE(model != nullptr, adjoint_last_error());
  }
  ~Loaded() { adjoint_free(model); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
};

}  // namespace

TEST_CASE_FIXTURE(InFolder,
                  "a model of nodes is loaded with the best weights, else the last, in its precision") {
  const std::string path = folder.file("c.h5");
  Draw draw(431, {}, DType::f32);
  const Graph graph = draw.graph(kNodes, 40, true);
  const Tensor x = draw.normal({kNodes, kIn});
  const models::ModelFamily family = models::gcn();
  models::ModelOptions options{.hidden = 5, .norm = models::Norm::batch};
  models::Checkpoint checkpoint = random_checkpoint(family, options, kIn, kOut, draw,
                                                    {{"task", "node_class"}, {"features.scaling", "real"}});
  checkpoint.tensors["features.mean"] = draw.normal({kIn});
  checkpoint.tensors["features.deviation"] = draw.uniform({kIn}, 0.5, 2.0);
  const Dense mean(checkpoint.tensors["features.mean"]), deviation(checkpoint.tensors["features.deviation"]);
  Dense scaled(x);
  for (int64_t i = 0; i < kNodes; ++i)
    for (int64_t c = 0; c < kIn; ++c) scaled(i, c) = (scaled(i, c) - mean(c, 0)) / deviation(c, 0);
  const Tensor input = Tensor::from(scaled.data, {kNodes, kIn}).to(DType::f32);
  for (const auto& [best, prefix, origin] : {std::tuple("2", "best.", "train_gcn, epoch 2"),
                                             {"0", "best.", "train_gcn, epoch 0"},
                                             {"-1", "model.", "train_gcn, epoch 3"}})
    for (const std::string precision : {"float32", "tf32", "bfloat16"}) {
      CAPTURES(prefix, precision);
      checkpoint.facts["best_epoch"] = best;
      checkpoint.facts["option.precision"] = precision;
      models::Checkpoint written = checkpoint;
      if (precision == "bfloat16")
        for (auto& [name, tensor] : written.tensors)
          if (name.ends_with("weight") || name.ends_with("bias")) tensor = tensor.to(DType::bf16);
      models::save_checkpoint(written, path);
      const auto plain = model_in(checkpoint, family, options, prefix);
      const NoGrad no_grad;
      const Tensor exact = (*plain->as<models::NodeModel>())(graph, Features(input)).value();
      const bool narrow = precision == "bfloat16";
      const TrainedModel loaded = load_trained(path);
      CHECK(loaded.origin() == origin);
      CHECK(loaded.describe() == "GCN 4-5-3 batch-norm");
      CHECK(loaded.task() == Task::node_class);
      CHECK_FALSE(loaded.of_graphs());
      CHECK_FALSE(loaded.of_links());
      CHECK(loaded.model().parameters().front().dtype() == (narrow ? DType::bf16 : DType::f32));
      const Tensor outputs = loaded.outputs(graph, Features(x));
      CHECK(outputs.dtype() == DType::f32);
      if (narrow) {
        CHECK(close_to_scale(outputs, exact, 0.05));
        CHECK_FALSE(close(outputs, exact, 1e-5));
      } else {
        CHECK(close(outputs, exact, 1e-5));
      }
    }
  for (const char* part : {"a model of nodes, not of graphs", "a model of nodes, not of links"}) {
    const TrainedModel loaded = load_trained(path);
    const Tensor offsets = Tensor::from(std::vector<int64_t>{0, kNodes});
    if (std::string(part).ends_with("graphs"))
      CHECK_ERROR_HAS((void)loaded.predict(graph, offsets, Features(x)), part);
    else
      CHECK_ERROR_HAS((void)loaded.predict_links(graph, Features(x), graph.edge_index()), part);
  }
}

TEST_CASE_FIXTURE(InFolder, "predictions of a regression are in the targets' unit") {
  const std::string path = folder.file("c.h5");
  Draw draw(432, {}, DType::f32);
  const Graph graph = draw.graph(kNodes, 40);
  const Tensor x = draw.normal({kNodes, kIn});
  const models::ModelFamily family = models::sage();
  const models::ModelOptions options{.hidden = 5};
  models::Checkpoint checkpoint =
      random_checkpoint(family, options, kIn, 2, draw, {{"task", "node_regression"}});
  checkpoint.tensors["targets.mean"] = Tensor::from(std::vector<float>{100.0f, -3.0f});
  checkpoint.tensors["targets.deviation"] = Tensor::from(std::vector<float>{10.0f, 0.5f});
  models::save_checkpoint(checkpoint, path);
  const NoGrad no_grad;
  Dense expected(
      (*model_in(checkpoint, family, options, "best.")->as<models::NodeModel>())(graph, Features(x)).value());
  for (int64_t i = 0; i < kNodes; ++i) {
    expected(i, 0) = expected(i, 0) * 10.0 + 100.0;
    expected(i, 1) = expected(i, 1) * 0.5 - 3.0;
  }
  const Predictions predictions = load_trained(path).predict(graph, Features(x));
  CHECK_FALSE(predictions.probability);
  CHECK(close(predictions.prediction, expected.data, 1e-5));
  std::vector<float> result(uz(kNodes * 2));
  const Loaded c(path);
  const Arrays arrays(graph, x);
  REQUIRE(adjoint_predict_nodes(c.model, &arrays.graph, result.data()) == 0);
  CHECK(close(Tensor::from(result, {kNodes, 2}), expected.data, 1e-5));
  CHECK(adjoint_num_features(c.model) == kIn);
  CHECK(adjoint_num_outputs(c.model) == 2);
  CHECK(adjoint_class_name(c.model, 0) == nullptr);

  checkpoint.tensors["targets.deviation"] = Tensor::from(std::vector<float>{10.0f, INFINITY});
  models::save_checkpoint(checkpoint, path);
  CHECK_ERROR((void)load_trained(path), (path + ": tensors/targets.deviation: not finite").c_str());
  checkpoint.tensors["targets.deviation"] = Tensor::from(std::vector<float>{10.0f, 3e38f});
  checkpoint.tensors["targets.mean"] = Tensor::from(std::vector<float>{0.0f, 3e38f});
  models::save_checkpoint(checkpoint, path);
  CHECK_ERROR((void)load_trained(path).predict(graph, Features(x)),
              "train_sage, epoch 2: the model's outputs are not finite");
}

TEST_CASE_FIXTURE(InFolder, "a model of graphs predicts in batches as for each graph alone") {
  const std::string path = folder.file("c.h5");
  Draw draw(433, {}, DType::f32);
  const std::vector<int64_t> offsets{0, 3, 3, 8, 9, 12};
  std::vector<int32_t> src, dst;
  for (size_t g = 0; g + 1 < offsets.size(); ++g)
    for (int64_t i = offsets[g]; i + 1 < offsets[g + 1]; ++i)
      for (int64_t j = i + 1; j < offsets[g + 1]; ++j)
        src.push_back(static_cast<int32_t>(j)), dst.push_back(static_cast<int32_t>(i));
  const Graph graph = Graph::from_coo(kNodes, Tensor::from(src), Tensor::from(dst));
  const models::ModelFamily family = models::graph_gin();
  using enum models::NodeFeatures;
  for (const models::NodeFeatures features : {file, constant, one_hot_degree}) {
    CAPTURE(name_of(features));
    const models::ModelOptions options{
        .hidden = 5, .layers = 2, .node_features = features, .graphs = {.pool = nn::GraphPool::mean}};
    const int64_t in = features == constant ? 1 : features == one_hot_degree ? 6 : kIn;
    Tensor x = draw.normal({kNodes, in});
    if (features != file) {
      Dense matrix(kNodes, in);
      for (int64_t i = 0; i < kNodes; ++i)
        matrix(i, features == constant ? 0 : std::count(dst.begin(), dst.end(), i)) = 1.0;
      x = Tensor::from(matrix.data, {kNodes, in}).to(DType::f32);
      CHECK(close(models::node_features(features, graph, in).to_dense(), matrix.data, 0.0));
    }
    models::Checkpoint checkpoint =
        random_checkpoint(family, options, in, kOut, draw, {{"task", "graph_class"}});
    checkpoint.tensors["classes.names"] = Tensor::from(std::vector<uint8_t>{'a', 'b', 'b', 'c'});
    checkpoint.tensors["classes.offsets"] = Tensor::from(std::vector<int64_t>{0, 1, 3, 4});
    models::save_checkpoint(checkpoint, path);
    const auto plain = model_in(checkpoint, family, options, "best.");
    const NoGrad no_grad;
    const Tensor logits =
        (*plain->as<models::GraphModel>())(graph, Tensor::from(offsets), Features(x)).value();
    const TrainedModel loaded = load_trained(path);
    CHECK(loaded.of_graphs());
    CHECK(loaded.graphs_at_once() == 2);
    const Features input = features == file ? Features(x) : Features();
    CHECK(close(loaded.outputs(graph, Tensor::from(offsets), input), logits, 1e-5));
    std::vector<double> probability = values(logits);
    for (size_t i = 0; i < probability.size(); i += uz(kOut)) {
      double sum = 0.0;
      for (size_t c = i; c < i + uz(kOut); ++c) sum += probability[c] = std::exp(probability[c]);
      for (size_t c = i; c < i + uz(kOut); ++c) probability[c] /= sum;
    }
    const Loaded c(path);
    const Arrays arrays(graph, features == file ? x : Tensor());
    std::vector<float> result(uz(5 * kOut));
    REQUIRE(adjoint_predict_graphs(c.model, &arrays.graph, 5, offsets.data(), result.data()) == 0);
    CHECK(close(Tensor::from(result, {5, kOut}), probability, 1e-5));
    CHECK(std::string(adjoint_class_name(c.model, 1)) == "bb");
    CHECK(std::string(adjoint_class_name(c.model, 2)) == "c");
    CHECK(adjoint_class_name(c.model, 3) == nullptr);
    CHECK(adjoint_class_name(c.model, -1) == nullptr);
    CHECK(adjoint_predict_graphs(c.model, &arrays.graph, -1, offsets.data(), result.data()) == -1);
    CHECK(adjoint_predict_graphs(c.model, &arrays.graph, 0, offsets.data() + 1, nullptr) == -1);
    CHECK(adjoint_predict_graphs(c.model, &arrays.graph, 5, offsets.data(), nullptr) == -1);
    CHECK(std::string(adjoint_last_error()) == "adjoint: result is NULL");
    CHECK_ERROR_HAS((void)loaded.predict(graph, input),
                    "a model of graphs (pass their offsets), not of nodes");
  }
}

TEST_CASE_FIXTURE(InFolder,
                  "scores of pairs are inner products of the encoder's output; C has their sigmoid") {
  const std::string path = folder.file("c.h5");
  Draw draw(434, {}, DType::f32);
  const Graph graph = draw.graph(kNodes, 40, true);
  const Tensor x = draw.normal({kNodes, kIn});
  const models::ModelFamily family = models::link();
  const models::ModelOptions options{.model = "gcn", .hidden = 5, .links = {.embedding = 6}};
  const models::Checkpoint checkpoint = random_checkpoint(family, options, kIn, 1, draw, {{"task", "link"}});
  models::save_checkpoint(checkpoint, path);
  const auto plain = model_in(checkpoint, family, options, "best.");
  const NoGrad no_grad;
  const Dense z(plain->as<models::LinkModel>()->encoder()(graph, Features(x)).value());
  const std::vector<int64_t> src{0, 3, 7, 7}, dst{5, 2, 7, 1};
  std::vector<double> scores, probability;
  for (size_t p = 0; p < src.size(); ++p) {
    double score = 0.0;
    for (int64_t c = 0; c < 6; ++c) score += z(src[p], c) * z(dst[p], c);
    scores.push_back(score);
    probability.push_back(1.0 / (1.0 + std::exp(-score)));
  }
  const TrainedModel loaded = load_trained(path);
  CHECK(loaded.of_links());
  CHECK(loaded.task() == Task::none);
  const EdgeIndex pairs{Tensor::from(src).to(DType::i32), Tensor::from(dst).to(DType::i32)};
  CHECK(close(loaded.predict_links(graph, Features(x), pairs), scores, 1e-5));
  CHECK_ERROR_HAS((void)loaded.predict(graph, Features(x)), "a model of links (predict_links), not of nodes");
  CHECK_ERROR_HAS((void)loaded.predict(graph, Tensor::from(src), Features(x)),
                  "a model of links, not of graphs");

  const Loaded c(path);
  const Arrays arrays(graph, x);
  std::vector<float> result(4);
  REQUIRE(adjoint_predict_links(c.model, &arrays.graph, 4, src.data(), dst.data(), result.data()) == 0);
  CHECK(close(Tensor::from(result), probability, 1e-5));
  const auto refused = [&](adjoint_graph wrong, int64_t count, const int64_t* sources, const char* message) {
    CHECK(adjoint_predict_links(c.model, &wrong, count, sources, dst.data(), result.data()) == -1);
    CHECK(std::string(adjoint_last_error()) == message);
  };
  const int64_t outside[] = {0, -1, 12, 0};
  refused(arrays.graph, -1, src.data(), "adjoint: -1 pairs");
  refused(arrays.graph, 4, nullptr, "adjoint: src is NULL");
  refused(arrays.graph, 2, outside, "adjoint: src[1] is -1, expected 0 to 11");
  refused(arrays.graph, 1, outside + 2, "adjoint: src[0] is 12, expected 0 to 11");
  adjoint_graph wrong = arrays.graph;
  wrong.num_nodes = -1;
  refused(wrong, 0, src.data(), "adjoint: -1 nodes and 40 edges, expected 0 to 2147483646");
  wrong = arrays.graph;
  wrong.num_edges = 2147483647;
  refused(wrong, 0, src.data(), "adjoint: 12 nodes and 2147483647 edges, expected 0 to 2147483646");
  wrong = arrays.graph;
  wrong.dst = nullptr;
  refused(wrong, 0, src.data(), "adjoint: dst is NULL");
  CHECK(adjoint_predict_links(c.model, &arrays.graph, 0, nullptr, nullptr, nullptr) == 0);
  CHECK(adjoint_num_features(nullptr) == -1);
  CHECK(adjoint_num_outputs(nullptr) == -1);
  CHECK(adjoint_class_name(nullptr, 0) == nullptr);
  CHECK(adjoint_load(nullptr, nullptr) == nullptr);
  CHECK(std::string(adjoint_last_error()) == "adjoint: checkpoint is NULL");
}

TEST_CASE_FIXTURE(InFolder, "a checkpoint with damaged facts or tensors is refused, naming them") {
  const std::string path = folder.file("c.h5");
  Draw draw(435, {}, DType::f32);
  models::Checkpoint whole = random_checkpoint(
      models::gcn(), {.hidden = 5}, kIn, kOut, draw,
      {{"task", "node_regression"}, {"features.scaling", "standard"}, {"features.bits", "3"}});
  const Tensor four = Tensor::full({kIn}, 1.0), three = Tensor::full({kOut}, 1.0);
  whole.tensors["features.mean"] = whole.tensors["features.deviation"] = four;
  whole.tensors["features.scale"] = whole.tensors["features.zero"] = Tensor::full({1}, 2.0);
  whole.tensors["targets.mean"] = whole.tensors["targets.deviation"] = three;
  whole.tensors["classes.names"] = Tensor::from(std::vector<uint8_t>{'a', 'b', 'c'});
  whole.tensors["classes.offsets"] = Tensor::from(std::vector<int64_t>{0, 1, 2, 3});
  const auto message_of = [&](auto&& change) {
    models::Checkpoint changed = whole;
    change(changed);
    models::save_checkpoint(changed, path);
    try {
      (void)load_trained(path);
    } catch (const DataError& error) {
      const std::string message = error.what();
      REQUIRE(message.starts_with(path + ": "));
      return message.substr(path.size() + 2);
    }
    return std::string();
  };
  CHECK(message_of([](auto&) {}) == "");
  CHECK(message_of([](auto& c) {
          c.program = "train";
        }).starts_with("attribute program: written by train, expected train_gcn or "));
  const std::tuple<const char*, const char*, const char*> facts[] = {
      {"task", "nodes", "facts@task: 'nodes', expected a task of nodes, graphs, edges or links"},
      {"task", "link", "facts@task: 'link', which train_gcn does not train"},
      {"task", "graph_regression", "facts@task: 'graph_regression', which train_gcn does not train"},
      {"task", "node_class", ""},
      {"task", "node_multilabel", ""},
      {"features.scaling", "columns",
       "facts@features.scaling: 'columns', expected none, rows, standard or real"},
      {"features.scaling", "none", ""},
      {"features.scaling", "rows", ""},
      {"features.bits", "0", "facts@features.bits: 0, expected 1 to 32"},
      {"features.bits", "33", "facts@features.bits: 33, expected 1 to 32"},
      {"features.bits", "9", "facts@features.bits: 9, expected 1 to 8 or 32"},
      {"features.bits", "31", "facts@features.bits: 31, expected 1 to 8 or 32"},
      {"features.bits", "8", ""},
      {"features.bits", "32", ""},
      {"features", "0", "facts@features: 0, expected 1 to 2147483647"},
      {"outputs", "0", "facts@outputs: 0, expected 1 to 2147483647"},
      {"outputs", "four", "facts@outputs: 'four', expected a number"},
      {"outputs", "4", "tensors/classes.offsets: 3 names, expected 4"},
      {"features", "5", "tensors/features.mean: [4] float32 on cpu, expected [5]"},
      {"best_epoch", "-2", "facts@best_epoch: -2, expected -1 to 2147483647"},
      {"option.precision", "float16",
       "facts@option.precision: 'float16', expected float32, tf32 or bfloat16"},
      {"option.norm", "layer", "facts: --norm: "}};
  for (const auto& [fact, text, message] : facts) {
    CAPTURE(std::string(fact) + " " + text);
    const std::string found = message_of([&](auto& c) { c.facts[fact] = text; });
    CAPTURE(found);
    CHECK((std::string(message).empty() ? found.empty() : found.starts_with(message)));
  }
  for (const char* fact : {"task", "features", "outputs", "features.scaling", "best_epoch", "option.hidden",
                           "option.precision"}) {
    CAPTURE(std::string(fact));
    CHECK(message_of([&](auto& c) { c.facts.erase(fact); }) == fmt::format("facts@{}: missing", fact));
  }
  CHECK(message_of([](auto& c) { c.facts["best_epoch"] = "-1", c.facts["epoch"] = "-1"; }) ==
        "facts@epoch: -1, expected 0 to 2147483647");
  const auto longs = [](const std::vector<int64_t>& numbers) { return Tensor::from(numbers); };
  const std::string ascending = "tensors/classes.offsets: expected ascending numbers from 0 to 3";
  const std::tuple<const char*, Tensor, std::string> tensors[] = {
      {"features.mean", Tensor::full({5}, 1.0), "tensors/features.mean: [5] float32 on cpu, expected [4]"},
      {"features.mean", four.reshape({2, 2}),
       "tensors/features.mean: [2, 2] float32 on cpu, expected float32 [*]"},
      {"features.mean", four.to(DType::f64),
       "tensors/features.mean: [4] float64 on cpu, expected float32 [*]"},
      {"features.deviation", Tensor::zeros({kIn}), "tensors/features.deviation: "},
      {"features.deviation", Tensor::full({3}, 1.0), "tensors/features.deviation: "},
      {"features.scale", Tensor::full({2}, 1.0),
       "tensors/features.scale: [2] float32 on cpu, expected [1] or [4]"},
      {"features.scale", four, "tensors/features.scale: "},  // with one zero
      {"features.scale", Tensor::zeros({1}), "tensors/features.scale: "},
      {"targets.mean", Tensor::full({2}, 1.0),
       "tensors/targets.mean: [2] float32 on cpu, expected [3] float32"},
      {"targets.mean", three.to(DType::f64),
       "tensors/targets.mean: [3] float64 on cpu, expected [3] float32"},
      {"targets.mean", Tensor::full({kOut}, std::nan("")), "tensors/targets.mean: not finite"},
      {"classes.offsets", longs({0, 1, 3}), "tensors/classes.offsets: 2 names, expected 3"},
      {"classes.offsets", longs({1, 1, 2, 3}), ascending},
      {"classes.offsets", longs({0, 2, 1, 3}), ascending},
      {"classes.offsets", longs({0, 1, 2, 2}), ascending},
      {"classes.offsets", longs({}), ascending},
      {"classes.offsets", longs({0, 0, 0, 3}),
       "tensors/classes.names: class 1: \"\", as class 0, expected distinct names"},
      {"classes.names", Tensor::from(std::vector<uint8_t>{'a', 'b', 'a'}),
       "tensors/classes.names: class 2: \"a\", as class 0, expected distinct names"},
      {"classes.names", Tensor::from(std::vector<uint8_t>{'a', 0xff, 'b'}),
       "tensors/classes.names: class 1: "},
      {"best.convs.0.weight", Tensor::full({kIn, 5}, INFINITY), "tensors/best.convs.0.weight: not finite"},
      {"best.convs.0.weight", Tensor::zeros({5, kIn}), "tensors/best.*: load_state: convs.0.weight is "},
      {"best.other", four, "tensors/best.*: load_state: "}};
  for (const auto& [name, tensor, message] : tensors) {
    CAPTURE(std::string(name));
    const std::string found =
        message_of([&, key = name, &replaced = tensor](auto& c) { c.tensors[key] = replaced; });
    CAPTURE(found);
    CHECK(found.starts_with(message));
  }
  for (const char* name : {"features.mean", "features.deviation", "features.scale", "features.zero",
                           "classes.offsets", "targets.mean", "targets.deviation"}) {
    CAPTURE(name);
    CHECK(message_of([&](auto& c) { c.tensors.erase(name); }) == fmt::format("tensors/{}: missing", name));
  }
  // Without names there are none, and older files have another fact for the scaling.
  CHECK(message_of([](auto& c) { c.tensors.erase("classes.names"); }) == "");
  for (const auto& [raw, kind] :
       {std::pair("true", FeatureScaling::Kind::none), {"false", FeatureScaling::Kind::rows}}) {
    CHECK(message_of([&, value = raw](auto& c) {
            c.facts.erase("features.scaling"), c.facts["option.raw-features"] = value;
          }) == "");
    CHECK(load_trained(path).scaling().kind() == kind);
  }
  CHECK(message_of([](auto& c) {
          c.facts.erase("features.scaling"), c.facts["option.raw-features"] = "1";
        }) == "facts@option.raw-features: '1', expected true or false");
}
