#include "bench.h"
#include "variants.h"

using namespace adj;
using namespace adj::test;

namespace {

struct Bench : TrainingBench {
  Bench() : TrainingBench(small_dataset(), {"--quiet", "--hidden", "16", "--embedding", "8"}, "train_link") {}
};

std::vector<std::string> tensors_of(const std::string& path) {
  std::vector<std::string> all;
  for (const auto& [name, tensor] : models::load_checkpoint(path).tensors) {
    std::string text = name;
    const Tensor host = tensor.to(Device::cpu());
    text.append(static_cast<const char*>(host.raw_data()), host.bytes());
    all.push_back(text);
  }
  return all;
}

/// Node pairs with a label.
struct Pairs {
  std::vector<int32_t> src, dst;
  std::vector<uint8_t> label;

  /// As --predict wrote them.
  explicit Pairs(const H5Reader& file)
      : src(file.tensor("pairs/src", {DType::i32}).to_vector<int32_t>()),
        dst(file.tensor("pairs/dst", {DType::i32}).to_vector<int32_t>()),
        label(file.tensor("pairs/label", {DType::u8}).to_vector<uint8_t>()) {}
  /// True if exactly those of label 1 are edges.
  bool tell_edges_of(const Graph& graph) const {
    const EdgeIndex edges = graph.edge_index();
    const auto sources = edges.src.to_vector<int32_t>(), targets = edges.dst.to_vector<int32_t>();
    std::set<std::pair<int32_t, int32_t>> joined;
    for (size_t e = 0; e < sources.size(); ++e) joined.emplace(sources[e], targets[e]);
    bool all = !label.empty() && src.size() == label.size() && dst.size() == label.size();
    for (size_t k = 0; k < label.size(); ++k) all &= joined.count({src.at(k), dst.at(k)}) == label[k];
    return all;
  }
};

}  // namespace

TEST_CASE_FIXTURE(With<Bench>, "train_link finds hidden edges with every model, decoder and loader") {
  save_dataset(make_citation_dataset({.nodes = 300,
                                      .classes = 4,
                                      .features = 60,
                                      .degree = 8.0,
                                      .homophily = 0.95,
                                      .signal = 0.8,
                                      .train_per_class = 5,
                                      .val = 20,
                                      .test = 20}),
               bench.data);
  for (const Words& method :
       {Words{}, Words{"--model", "sage"}, Words{"--model", "gat", "--decoder", "mlp"},
        Words{"--model", "sage", "--loader", "neighbor", "--batch-size", "32", "--lr", "0.005"},
        Words{"--model", "gat", "--loader", "neighbor", "--evaluation", "graph", "--batch-size", "32"},
        Words{"--loader", "neighbor", "--batch-size", "32"}}) {
    CAPTURE(method.size());
    const auto json =
        bench.result(joined(method, {"--epochs", "30", "--json", "--val", "0.1", "--test", "0.2"}));
    CHECK(json.at("metric") == "auc");
    CHECK(std::stod(json.at("test_auc")) > 0.6);
    CHECK(std::stod(json.at("test_acc")) == std::stod(json.at("test_auc")));
    CHECK(std::stod(json.at("val_acc")) == std::stod(json.at("val_auc")));
    for (const char* name : {"val_mrr", "test_mrr", "val_hits@50", "test_hits@50"}) {
      CHECK(std::stod(json.at(name)) > 0.0);
      CHECK(std::stod(json.at(name)) <= 1.0);
    }
  }
}

TEST_CASE_FIXTURE(With<Bench>, "hidden edges are not seen: in a random graph none is found") {
  constexpr int64_t kNodes = 400;
  Dataset data = unlabelled(small_dataset());
  Generator generator(5);
  const Tensor src = random_integers({3 * kNodes}, 0, kNodes, generator, DType::i32),
               dst = random_integers({3 * kNodes}, 0, kNodes, generator, DType::i32);
  data.graph = to_undirected(Graph::from_coo(kNodes, src, dst));
  data.x = Features(random_tensor({kNodes, 16}));
  save_dataset(data, bench.data);
  for (const Words& method : {Words{}, Words{"--model", "sage", "--loader", "neighbor"}}) {
    const auto result = bench.result(
        joined(method, {"--epochs", "30", "--json", "--test", "0.3", "--features-scaling", "none"}));
    CHECK(std::stod(result.at("test_auc")) < 0.55);
  }
}

TEST_CASE("resumed link training ends with the same bits, on any number of workers and threads") {
  const Bench bench;
  for (const Words& method :
       {Words{"--decoder", "mlp", "--dropout", "0.2"},
        Words{"--model", "sage", "--loader", "neighbor", "--batch-size", "50", "--dropout", "0.2"}}) {
    const std::string whole = bench.folder.file("whole.h5"), parts = bench.folder.file("parts.h5");
    const auto with = [&](const Words& more) {
      succeeds(bench.train(joined(joined(more, method), {"--runs", "2", "--eval-every", "2"})));
    };
    with({"--epochs", "6", "--checkpoint", whole, "--threads", "1"});
    with({"--epochs", "6", "--checkpoint", parts, "--threads", "3"});
    CHECK(tensors_of(parts) == tensors_of(whole));
    if (method[0] == "--model") {
      with({"--epochs", "6", "--checkpoint", parts, "--workers", "3"});
      CHECK(tensors_of(parts) == tensors_of(whole));
    }
    // One run, broken off after four epochs.
    const auto one = [&](const Words& more) { succeeds(bench.train(joined(more, method))); };
    one({"--epochs", "9", "--checkpoint", whole});
    one({"--epochs", "4", "--checkpoint", parts});
    CHECK(tensors_of(parts) != tensors_of(whole));
    one({"--epochs", "9", "--resume", parts, "--checkpoint", parts});
    CHECK(tensors_of(parts) == tensors_of(whole));
    CHECK(bench.train(joined(method, {"--epochs", "9", "--resume", parts, "--val", "0.07"})).status == 1);
  }
}

TEST_CASE_FIXTURE(With<Bench>, "a GCN trained on sampled links is evaluated on the whole graph") {
  const std::string scores = bench.folder.file("scores.h5"), checkpoint = bench.folder.file("c.h5");
  const Words split{"--val", "0.1", "--test", "0.2", "--seed", "5", "--features-scaling", "none"},
      batches{"--loader", "neighbor", "--fanouts", "2", "--batch-size", "32", "--evaluation", "graph"},
      files{"--epochs", "3", "--checkpoint", checkpoint, "--predict", scores};
  succeeds(bench.train(joined(split, joined(batches, files))));
  const Dataset data = load_dataset(bench.data);
  Generator generator(5);
  const Graph graph = random_link_split(data.graph, {.val = 0.1, .test = 0.2}, generator).train;
  const TrainedModel trained = load_trained(checkpoint);
  auto& model = *trained.model().as<models::LinkModel>();
  std::vector<std::string> names;  // in PyG's state; data/from_adjoint.py gives the same
  for (const nn::PygLayout& layout : model.pyg_layout()) names.push_back(layout.name);
  CHECK(names == std::vector<std::string>{"encoder.convs.0.lin.weight", "encoder.convs.0.bias",
                                          "encoder.convs.1.lin.weight", "encoder.convs.1.bias"});
  const NoGrad no_grad;
  const H5Reader file = H5Reader::open(scores);
  const Relation pairs =
      Relation::from_coo(data.num_nodes(), data.num_nodes(), file.tensor("pairs/src", {DType::i32}),
                         file.tensor("pairs/dst", {DType::i32}));
  const Tensor expected = model.scores_of_all(model.encoder()(graph, data.x).value(), pairs);
  CHECK(close(file.tensor("pairs/score", {DType::f32}).reshape({pairs.num_edges(), 1}), expected, 1e-5));
}

TEST_CASE_FIXTURE(With<Bench>, "the pairs of a reordered dataset are written as its nodes stood at first") {
  const std::string scores = bench.folder.file("scores.h5");
  const Dataset data = load_dataset(bench.data);
  Generator generator(3);
  save_dataset(reordered(data, random_order(data.num_nodes(), generator)), bench.data);
  succeeds(bench.train({"--epochs", "1", "--predict", scores, "--test", "0.2"}));
  CHECK(Pairs(H5Reader::open(scores)).tell_edges_of(data.graph));
}

TEST_CASE_FIXTURE(With<Bench>, "refusals of train_link") {
  check_refused([&](const Words& more) { return bench.train(more); },
                {{{"--val", "0"}, {"--val"}},
                 {{"--decoder", "cosine"}, {"--decoder", "dot or mlp"}},
                 {{"--metric", "hits@0"}, {"--metric", "hits@K"}},
                 {{"--metric", "hits@3x"}, {"--metric", "hits@K"}},
                 {{"--metric", "hits@99999999999999999999"}, {"--metric"}},
                 {{"--metric", "accuracy"}, {"--metric", "auc or mrr"}},
                 {{"--model", "gin"}, {"--model"}},
                 {{"--loader", "neighbor", "--evaluation", "layers"}, {"layers", "GCN", "graph"}},
                 {{"--inductive"}, {"inductive"}}});
  CHECK(fails_with(bench.train({"--val", "0.00001"}), 1, {bench.data, "edges", "validate"}));
  Dataset data = small_dataset();
  std::vector<int32_t> src, dst;
  for (int32_t i = 0; i < 120; ++i)
    for (int32_t j = 0; j < 120; ++j)
      if (i != j) {
        src.push_back(i);
        dst.push_back(j);
      }
  data.graph = Graph::from_coo(120, Tensor::from(src), Tensor::from(dst));
  save_dataset(data, bench.data);
  CHECK(fails_with(bench.train({}), 1, {bench.data, "edges", "only 0 have no edge"}));
  data.graph = Graph::from_coo(120, Tensor::empty({0}, DType::i32), Tensor::empty({0}, DType::i32));
  save_dataset(data, bench.data);
  CHECK(fails_with(bench.train({}), 1, {bench.data, "edges"}));
  data = small_dataset();
  data.x = Features();
  save_dataset(data, bench.data);
  CHECK(fails_with(bench.train({}), 1, {bench.data, "nodes/x", "needs node features"}));
  // Neither labels nor splits are needed.
  save_dataset(unlabelled(small_dataset()), bench.data);
  succeeds(bench.train({"--epochs", "2"}));
}
