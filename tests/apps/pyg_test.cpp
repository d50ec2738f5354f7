#include "json.h"
#include "small_dataset.h"

using namespace adj;
using namespace adj::test;

// Models constructed and run in PyG (tests/reference/make_pyg_models.py), run from their state dicts.

namespace {

const std::string kReference = std::string("tests/reference/pyg_models.h5");
constexpr int64_t kNodes = 30, kClasses = 5;

struct Foreign {
  std::string model;
  Words options;
};

const std::vector<Foreign>& foreign() {
  static const std::vector<Foreign> all = {
      {"gcn", {}},
      {"gat", {"--heads", "3", "--output-heads", "2"}},
      {"gatv2", {"--heads", "3", "--output-heads", "2", "--norm", "batch"}},
      {"transformer", {"--heads", "3", "--gate", "--norm", "layer"}},
      {"sage", {"--norm", "batch"}},
      {"gin",
       {"--train-eps", "--norm", "batch",  // a torch.nn.Sequential counts its ReLU
        "--rename", "convs.0.nn.lins.0=convs.0.nn.0", "--rename", "convs.0.nn.lins.1=convs.0.nn.2",
        "--rename", "convs.1.nn.lins.0=convs.1.nn.0", "--rename", "convs.1.nn.lins.1=convs.1.nn.2",
        "--rename", "convs.2.nn.lins.0=convs.2.nn.0", "--rename", "convs.2.nn.lins.1=convs.2.nn.2"}},
      {"agnn", {"--layers", "2", "--rename", "props.0=prop1", "--rename", "props.1=prop2"}},
  };
  return all;
}

/// The output of `data/to_adjoint.py state` for the model.
void write_state(const std::string& model, const std::string& path) {
  const H5Reader file = H5Reader::open(kReference);
  H5Writer state(path);
  for (const std::string& name : file.children(model + "/state"))
    state.write(name, file.tensor(model + "/state/" + name, {DType::f32, DType::i64}));
  state.commit();
}

struct Bench {
  TemporaryDirectory folder;
  std::string state = folder.file("state.h5"), out = folder.file("p.h5");
  Outcome predict(const Foreign& f, Words more = {}) const {
    Words words{"--pyg-state", state,   "--model", f.model,    "--data",
                kReference,    "--out", out,       "--hidden", "4"};
    if (f.model != "agnn") words.insert(words.end(), {"--layers", "3"});
    return run("predict", joined(joined(words, f.options), more));
  }
};

}  // namespace

TEST_CASE("a model trained in PyG has the same outputs in C++") {
  for (const Foreign& f : foreign())
    for (Device device : devices()) {
      CAPTURE(f.model);
      const Bench bench;
      write_state(f.model, bench.state);
      const Outcome outcome = succeeds(bench.predict(f, {"--device", device.str(), "--json"}));
      CHECK(json_of(outcome)["task"] == "node_class");
      const auto logits = H5Reader::open(kReference)
                              .tensor(f.model + "/output", {DType::f32}, {kNodes, kClasses})
                              .to_vector<float>();
      const auto probabilities = H5Reader::open(bench.out)
                                     .tensor("nodes/probability", {DType::f32}, {kNodes, kClasses})
                                     .to_vector<float>();
      for (size_t i = 0; i < probabilities.size(); i += kClasses) {
        double total = 0.0;
        for (size_t c = i; c < i + kClasses; ++c) total += std::exp(static_cast<double>(logits[c]));
        for (size_t c = i; c < i + kClasses; ++c)
          CHECK(probabilities[c] ==
                doctest::Approx(std::exp(static_cast<double>(logits[c])) / total).epsilon(2e-5));
      }
    }
}

TEST_CASE("a PyG state in a safetensors file gives the same model") {
  Bench bench;
  const Foreign gat = foreign()[1];
  write_state(gat.model, bench.state);
  const H5Reader state = H5Reader::open(bench.state);
  succeeds(bench.predict(gat));
  const std::string before = contents_of(bench.out);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const std::string& name : state.children(""))
    tensors.emplace_back(name, state.tensor(name, {DType::f32}));
  std::filesystem::remove(bench.state);
  std::filesystem::remove(bench.out);
  bench.state = bench.folder.file("state.safetensors");
  save_safetensors(bench.state, tensors);
  succeeds(bench.predict(gat));
  const Tensor predictions = predictions_in(bench.out);
  replace_file(bench.out, before);
  CHECK(same_bits(predictions, predictions_in(bench.out)));
}

TEST_CASE("a mismatched state gives a one-line error with file, part and missing options") {
  const Bench bench;
  const Foreign gcn = foreign()[0];
  write_state("gcn", bench.state);
  succeeds(bench.predict(gcn));
  const std::string before = contents_of(bench.out);
  CHECK(fails_with(bench.predict(gcn, {"--quiet", "--norm", "batch"}), 1, {bench.state, "norms.0"}));
  CHECK(fails_with(bench.predict({"gin", {}}, {"--quiet"}), 1, {bench.state, "convs.0.eps", "missing"}));
  Words words{"--quiet", "--pyg-state", bench.state, "--data", kReference, "--out", bench.out};
  const auto with = [&](const Words& more) { return run("predict", joined(words, more)); };
  CHECK(fails_with(with({"--model", "gcn", "--hidden", "4", "--layers", "2"}), 1, {bench.state, "convs."}));
  CHECK(fails_with(with({"--model", "gcn", "--hidden", "5", "--layers", "3"}), 1,
                   {bench.state, "[4, 6]", "[5, 6]"}));
  check_refused([&](const Words& more) { return with(more); },
                {{{"--model", "gcn", "--hidden", "0"}, {"--hidden"}},
                 {{"--model", "resnet"}, {"--model", "gcn or", "resnet"}},
                 {{"--model", "gcn", "--heads", "3"}, {"heads"}},
                 {{}, {"--pyg-state", "--model"}},
                 {{"--checkpoint", bench.state}, {"--checkpoint", "--pyg-state"}},
                 {{"--model", "gcn", "--rename", "convs.0"}, {"--rename", "OURS=THEIRS"}},
                 {{"--model", "gcn", "--task", "none"}, {"--task", "node_class"}}});
  for (const Words& more : {Words{"--task", "node_class"}, Words{"--outputs", "6"}, Words{"--rename", "a=b"}})
    CHECK(fails_with(
        run("predict", joined({"--checkpoint", bench.state, "--data", kReference, "--out", bench.out}, more)),
        2, {more[0], "requires --pyg-state"}));
  CHECK(fails_with(with({"--model", "gcn", "--hidden", "4", "--layers", "3", "--outputs", "6"}), 1,
                   {bench.state, "[5, 4]", "[6, 4]"}));
  CHECK(fails_with(
      run("predict", {"--pyg-state", kReference, "--model", "gcn", "--data", kReference, "--out", bench.out}),
      1, {kReference}));
  CHECK(fails_with(run("predict", {"--pyg-state", bench.state, "--model", "gcn", "--data", kReference,
                                   "--out", bench.state}),
                   2, {"--out", "--pyg-state"}));
  CHECK(contents_of(bench.out) == before);

  // Without labels the options determine the model's outputs.
  Dataset data = unlabelled(small_dataset());
  data.x = Features(Tensor::full({120, 6}, 0.5));
  const std::string bare = bench.folder.file("bare.h5");
  save_dataset(data, bare);
  const Words fits{"--quiet",  "--pyg-state", bench.state, "--model", "gcn",   "--hidden", "4",
                   "--layers", "3",           "--data",    bare,      "--out", bench.out};
  const auto predict = [&](const Words& more) { return run("predict", joined(fits, more)); };
  CHECK(fails_with(predict({}), 2, {"--task", bare}));
  CHECK(fails_with(predict({"--task", "node_class"}), 2, {"--outputs", bare}));
  succeeds(predict({"--task", "node_multilabel", "--outputs", "5"}));
  CHECK(predictions_in(bench.out).shape() == Shape{120, 5});
}
