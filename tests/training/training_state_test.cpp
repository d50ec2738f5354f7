#include "../reference/plain.h"
#include <adjoint/data/generators.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/metrics/metrics.h>
#include <adjoint/nn/norm/norm.h>
#include <adjoint/ops.h>
#include <adjoint/optim/captured_step.h>
#include <adjoint/optim/non_finite.h>
#include <adjoint/optim/optimizer.h>
#include <adjoint/training/training_state.h>

#include <cmath>
#include <fstream>
#include <sstream>

using namespace adj;
using namespace adj::test;
using training::TrainingState;

namespace {

struct Gcn : nn::Module {
  nn::Child<nn::GCNConv> conv1, conv2;
  nn::Child<nn::BatchNorm> norm;
  Gcn(int64_t in, int64_t hidden, int64_t out)
      : conv1(this, "conv1", in, hidden), conv2(this, "conv2", hidden, out), norm(this, "norm", hidden) {}
  Var operator()(const Graph& graph, const Features& x) {
    return conv2(graph, dropout(norm(conv1(graph, x)), 0.4f));
  }
};

Dataset citations(Device device = {}, int64_t nodes = 240) {
  return make_citation_dataset({.nodes = nodes, .classes = 3, .features = 30, .val = 40, .test = 40})
      .to(device);
}

/// A complete training, with everything that a state can have.
struct Training {
  Dataset data;
  nn::Model<Gcn> model;
  optim::Adam adam;
  optim::SGD sgd;
  optim::EarlyStopping stopping{model};
  optim::Plateau plateau{{.factor = 0.5, .patience = 1}};
  Generator noise{77};
  std::string metrics_path;
  optim::MetricsFile metrics;
  TrainingState state;
  optim::CapturedStep step;

  Training(Dataset dataset, const TemporaryDirectory& folder, const std::string& name, int64_t hidden = 8,
           const std::string& program = "state_test")
      : data(std::move(dataset)),
        model((manual_seed(3), data.num_features()), hidden, data.num_classes()),
        adam((model.to(data.device()), model.conv1.parameters()), {.lr = 0.02}),
        sgd(
            [this] {
              std::vector<Var> rest = model.conv2.parameters();
              for (const Var& v : model.norm.parameters()) rest.push_back(v);
              return rest;
            }(),
            {.lr = 0.1, .momentum = 0.9}),
        metrics_path(folder.file(name + ".csv")),
        metrics(metrics_path, {"epoch", "loss", "noise"}),
        state(program, model, adam),
        step([this] {
          const Var loss = cross_entropy(model(data.graph, data.x), data.y, data.train);
          loss.backward();
          adam.step();
          sgd.step();
          return loss;
        }) {
    state.require(data).require("option.dropout", "0.4");
    state.add("sgd", sgd).add("plateau", plateau).add("noise", noise).add(stopping).add(metrics);
  }

  void run(int64_t begin, int64_t end) {
    for (int64_t epoch = begin; epoch < end; ++epoch) {
      const double loss = step().item();
      metrics.add({static_cast<double>(epoch), loss, random_uniform({1}, 0.0, 1.0, noise).item()});
      adam.set_rate_factor(plateau.observe(loss));
      model.eval();
      const NoGrad no_grad;
      stopping.observe(epoch, nn::accuracy(model(data.graph, data.x).value(), data.y, data.val));
      model.train();
    }
  }

  /// Everything that the state must restore.
  std::vector<std::vector<double>> all() {
    std::vector<std::vector<double>> found;
    for (const auto& [name, tensor] : model.state()) found.push_back(values(tensor));
    for (const optim::Optimizer* optimizer :
         {static_cast<optim::Optimizer*>(&adam), static_cast<optim::Optimizer*>(&sgd)})
      for (const auto& [name, tensor] : optimizer->state()) found.push_back(values(tensor));
    for (const auto& [name, tensor] : stopping.best_state()) found.push_back(values(tensor));
    found.push_back(metrics.rows());
    const auto& p = plateau.state();
    found.push_back({p.best, p.factor, static_cast<double>(p.bad), static_cast<double>(p.cooldown),
                     stopping.best_metric(), static_cast<double>(stopping.best_epoch()),
                     static_cast<double>(noise.position()), static_cast<double>(noise.seed()),
                     static_cast<double>(default_generator().position()),
                     static_cast<double>(default_generator().seed())});
    return found;
  }
};

}  // namespace

TEST_CASE("resumed training ends with the bits of uninterrupted training") {
  for (Device device : devices()) {
    const TemporaryDirectory folder;
    const std::string path = folder.file("c.h5");
    Training whole(citations(device), folder, "whole");
    CHECK(whole.state.resume_if_exists(path) == 0);
    whole.run(0, 12);
    whole.metrics.flush();
    const auto expected = whole.all();
    {
      Training first(citations(device), folder, "resumed");
      first.run(0, 7);
      first.state.save(path, 7);
      first.run(7, 9);  // lost when the process ends
      first.metrics.flush();
    }
    Training second(citations(device), folder, "resumed");
    const int64_t epoch = second.state.resume_if_exists(path);
    CHECK(epoch == 7);
    second.run(epoch, 12);
    second.metrics.flush();
    CHECK(second.all() == expected);
    CHECK(contents_of(second.metrics_path) == contents_of(whole.metrics_path));
    second.stopping.restore();
    whole.stopping.restore();
    CHECK(second.all() == whole.all());
  }
}

TEST_CASE_FIXTURE(InFolder, "a checkpoint of another training is refused, and nothing is changed") {
  const std::string path = folder.file("c.h5"), spoiled = folder.file("spoiled.h5");
  Training source(citations(), folder, "source");
  source.run(0, 3);
  source.state.save(path, 3);

  const auto refused = [&](Training& training, const std::string& file,
                           const std::vector<std::string>& told) {
    training.run(0, 1);
    const auto before = training.all();
    const std::string message = error_of<DataError>([&] { training.state.resume(file); });
    CHECK(message.find('\n') == std::string::npos);
    CHECK(mentions(message, file));
    for (const std::string& part : told) CHECK(mentions(message, part));
    CHECK(training.all() == before);
  };
  const auto other = [&](const std::vector<std::string>& told, auto&&... arguments) {
    Training training(std::forward<decltype(arguments)>(arguments)...);
    refused(training, path, told);
  };
  other({"dataset", "240 nodes", "250 nodes"}, citations({}, 250), folder, "other");
  Dataset relabelled = citations();
  std::vector<int32_t> labels = relabelled.y.to_vector<int32_t>();
  labels[5] = (labels[5] + 1) % 3;
  relabelled.y = Tensor::from(labels);
  other({"dataset", "contents", "this run has"}, relabelled, folder, "other");
  other({"conv1.weight", "[30, 8]", "[30, 9]"}, citations(), folder, "other", 9);
  other({"state_test", "another"}, citations(), folder, "other", 8, "another");

  const auto changed = [&](auto&& change, const std::vector<std::string>& told) {
    models::Checkpoint checkpoint = models::load_checkpoint(path, "state_test");
    change(checkpoint);
    models::save_checkpoint(checkpoint, spoiled);
    Training training(citations(), folder, "other");
    refused(training, spoiled, told);
  };
  changed([](auto& c) { c.facts["option.dropout"] = "0.5"; },
          {"was trained with --dropout 0.5; this run has 0.4"});
  changed([](auto& c) { c.facts.erase("option.dropout"); }, {"option.dropout", "missing"});
  changed([](auto& c) { c.set("epoch", int64_t{-1}); }, {"epoch", "-1"});
  changed([](auto& c) { c.facts.erase("noise.position"); }, {"noise.position", "missing"});
  changed([](auto& c) { c.facts["plateau.best"] = "low"; }, {"plateau.best", "low"});
  changed([](auto& c) { c.set("best_epoch", int64_t{9}); }, {"best_epoch", "9"});
  changed([](auto& c) { c.set("marks.epoch", int64_t{9}); }, {"marks.epoch", "9"});
  changed([](auto& c) { c.facts.erase("marks.loss"); }, {"marks.loss", "missing"});
  changed([](auto& c) { c.tensors.erase("best.norm.weight"); }, {"norm.weight"});
  changed([](auto& c) { c.tensors.erase("model.norm.running_var"); }, {"norm.running_var"});
  changed([](auto& c) { c.tensors.erase("sgd.0.0.first"); }, {"optimizer"});
  changed([](auto& c) { c.tensors["metrics"] = Tensor::zeros({3, 2}, DType::f64); }, {"metrics", "[3, 2]"});
}

TEST_CASE("non-finite numbers are neither saved nor loaded, and resuming replaces them") {
  for (Device device : devices()) {
    const TemporaryDirectory folder;
    const std::string path = folder.file("c.h5"), spoiled = folder.file("spoiled.h5");
    Training t(citations(device), folder, "t");
    t.run(0, 3);
    t.state.save(path, 3);
    for (const char* name : {"model.conv1.bias", "best.norm.running_var", "optimizer.0.0.second",
                             "sgd.0.1.first", "sgd.rate_factor"})
      for (double value : {double(NAN), double(INFINITY)}) {
        CAPTURE(std::string(name));
        models::Checkpoint checkpoint = models::load_checkpoint(path, "state_test");
        Tensor first = checkpoint.tensors.at(name).reshape({-1}).rows(0, 1);
        first.fill_(value);
        models::save_checkpoint(checkpoint, spoiled);
        const auto before = t.all();
        CHECK(error_of([&] { t.state.resume(spoiled); }) ==
              fmt::format("{}: tensors/{}: not finite", spoiled, name));
        CHECK(t.all() == before);
      }
    models::Checkpoint checkpoint = models::load_checkpoint(path, "state_test");
    checkpoint.facts["plateau.factor"] = "nan";
    models::save_checkpoint(checkpoint, spoiled);
    CHECK(mentions(error_of([&] { t.state.resume(spoiled); }), "facts@plateau.factor: nan"));
    checkpoint.facts["plateau.factor"] = "-0.5";
    models::save_checkpoint(checkpoint, spoiled);
    CHECK(mentions(error_of([&] { t.state.resume(spoiled); }), "facts@plateau.factor: -0.5"));

    const auto good = t.all();
    const std::string bytes = contents_of(path);
    Tensor bias = t.model.conv2.parameters()[1].value().rows(2, 3);
    bias.fill_(NAN);
    CHECK(error_of([&] { t.state.save(path, 4); }) ==
          fmt::format("epoch 4: {} is not written: the parameter conv2.bias is not finite", path));
    CHECK(contents_of(path) == bytes);
    CHECK(t.state.resume(path) == 3);
    CHECK(t.all() == good);
    Tensor moment = t.sgd.state().back().second;
    moment.fill_(INFINITY);
    CHECK(error_of([&] { t.state.save(path, 4); }) ==
          fmt::format("epoch 4: {} is not written: sgd.{} is not finite", path, t.sgd.state().back().first));
  }
}

TEST_CASE("the first tensor that is not finite is named") {
  for (Device device : devices()) {
    nn::Model<Gcn> model(4, 3, 2);
    model.to(device);
    const auto found = [&] { return optim::first_not_finite(model.state()); };
    CHECK(found().empty());
    optim::require_finite(model, "epoch 1");
    for (auto& [name, tensor] : model.state()) {
      CAPTURE(name);
      const Tensor kept = tensor.clone();
      for (double value : {double(NAN), double(INFINITY), -double(INFINITY)}) {
        Tensor last = tensor.reshape({-1}).rows(tensor.numel() - 1, tensor.numel());
        last.fill_(value);
        CHECK(found() == name);
      }
      const std::string what = name.find("running") == std::string::npos ? "parameter" : "buffer";
      CHECK(error_of([&] { optim::require_finite(model, "epoch 7"); }) ==
            fmt::format("epoch 7: the {} {} is not finite", what, name));
      tensor.copy_(kept);
    }
    // Large, but finite, though their squares are not.
    CHECK(optim::first_not_finite({{"a", Tensor::full({3}, 1e300, DType::f64, device)},
                                   {"b", Tensor::full({3}, 3e38, DType::f32, device)},
                                   {"c", Tensor::full({3}, 3e38, DType::bf16, device)},
                                   {"d", Tensor::full({3}, 3, DType::i64, device)},
                                   {"e", Tensor::empty({0}, DType::f32, device)}})
              .empty());
    CHECK(optim::first_not_finite({{"a", Tensor::full({3}, 1e300, DType::f64, device)},
                                   {"b", Tensor::full({3}, INFINITY, DType::bf16, device)}}) == "b");
  }
}

TEST_CASE_FIXTURE(InFolder, "two parts or facts of the same name are refused") {
  Training t(citations(), folder, "t");
  CHECK(mentions(error_of([&] { t.state.add("sgd", t.sgd); }), "'sgd'"));
  CHECK(mentions(error_of([&] { t.state.add("model", t.noise); }), "'model'"));
  CHECK(mentions(error_of([&] { t.state.add(t.stopping); }), "'best'"));
  CHECK(mentions(error_of([&] { t.state.add("a.b", t.plateau); }), "'a.b'"));
  CHECK_THROWS_AS(t.state.save(folder.file("c.h5"), -1), Error);
  t.state.require("epoch", "12");
  CHECK(mentions(error_of([&] { t.state.save(folder.file("c.h5"), 0); }), "'epoch'"));
  CHECK_THROWS_AS(t.state.resume(folder.file("none.h5")), DataError);
}
