#include "bench.h"
#include <adjoint/core/program.h>
#include <adjoint/optim/optimizer.h>

#include <csignal>

using namespace adj;
using namespace adj::test;

// Runs, selection, early stopping, checkpoints and records of trainings whose epochs a script gives.

namespace {

/// What a training by `script` does, as a plain loop: the evaluated epochs, the last and the best one.
struct Played {
  std::vector<int64_t> evaluated;
  int64_t last = 0, best = 0;
};

Played played(const std::vector<ScriptedEpoch>& script, const RunOptions& o) {
  Played p;
  int64_t hits = -1, since = 0;
  double loss = 1e9;
  while (true) {
    ++p.last;
    const bool end = p.last == o.epochs;
    if (p.last % o.eval_every == 0 || end) {
      const ScriptedEpoch& e = script[uz(p.last - 1)];
      p.evaluated.push_back(p.last);
      if (o.patience_on == PatienceOn::either) {
        const bool higher = e.val_hits >= hits, lower = e.val_loss <= loss;
        if (higher && lower) p.best = p.last;
        if (higher || lower) since = p.last;
        loss = std::min(loss, e.val_loss);
      } else if (e.val_hits > hits) {
        p.best = since = p.last;
      }
      hits = std::max(hits, e.val_hits);
      if (o.patience > 0 && p.last - since >= o.patience) return p;
    }
    if (end) return p;
  }
}

int64_t epoch_in(const std::string& path) {
  return std::filesystem::exists(path) ? models::load_checkpoint(path, "train_gcn").integer("epoch") : 0;
}

const std::vector<ScriptedEpoch> kFalling{{1, 1, 20, 1}, {1, 1, 19, 2}, {1, 1, 18, 3}, {1, 1, 17, 4},
                                          {1, 1, 16, 5}, {1, 1, 15, 6}, {1, 1, 14, 7}, {1, 1, 13, 8},
                                          {1, 1, 12, 9}, {1, 1, 11, 0}};

}  // namespace

TEST_CASE("history, best epoch, early stop and result are those of a plain loop, for all options") {
  for (const int64_t every : {1, 2, 5})
    for (const int64_t patience : {0, 1, 3, 4})
      for (const PatienceOn criterion : {PatienceOn::metric, PatienceOn::either})
        for (const uint64_t seed : {1, 2, 3}) {
          CAPTURES(every, patience, std::string(name_of(criterion)), seed);
          const auto script = drawn_script(seed, 12);
          Program p;
          p.options.run.epochs = 12;
          p.options.run.eval_every = every;
          p.options.run.patience = patience;
          p.options.run.patience_on = criterion;
          std::vector<int64_t> trained;
          p.play({script}, {}, [&](int64_t epoch) { trained.push_back(epoch); });
          const Played expected = played(script, p.options.run);
          CHECK(std::ssize(trained) == expected.last);
          REQUIRE(p.history().size() == expected.evaluated.size());
          for (size_t i = 0; i < p.history().size(); ++i) {
            const EpochRecord& r = p.history()[i];
            const ScriptedEpoch& e = script[uz(expected.evaluated[i] - 1)];
            CHECK(r.run == 0);
            CHECK(r.epoch == expected.evaluated[i]);
            CHECK(r.train_loss == e.train_loss);
            CHECK(r.val_loss == e.val_loss);
            CHECK(r.val_metric == doctest::Approx(static_cast<double>(e.val_hits) / 30.0));
          }
          REQUIRE(p.results().size() == 1);
          const RunResult& result = p.results()[0];
          const ScriptedEpoch& best = script[uz(expected.best - 1)];
          CHECK(result.best_epoch == expected.best);
          CHECK(result.epochs_run == expected.last);
          CHECK(result.train_loss == script[uz(expected.last - 1)].train_loss);
          CHECK(result.val_loss == best.val_loss);
          CHECK(result.val_metric == doctest::Approx(static_cast<double>(best.val_hits) / 30.0));
          CHECK(result.test_metric == doctest::Approx(static_cast<double>(best.test_hits) / 40.0));
          CHECK(result.test_loss == doctest::Approx(scripted_loss(best.test_hits, 40)).epsilon(1e-5));
          CHECK(std::isnan(result.test_auc));
          for (const auto& [name, tensor] : p.model->state())
            CHECK(values(tensor).front() == static_cast<double>(expected.best));
          CHECK(p.run->epoch() == expected.last);
          CHECK(p.run->epoch_ms() > 0.0);
        }
}

TEST_CASE("of a metric where lower is better the least value is the best, in its own unit") {
  Program p(small_regression_dataset());
  p.options.data.metric = "mae";
  p.options.run.epochs = 4;
  struct Constant : PlayedEpochs {  // predicts the targets plus an error by epoch
    explicit Constant(const Run& parent) : run(parent) {}
    Tensor train(int64_t done) override { return epoch = done, Tensor::full({}, 1.0); }
    Evaluation validate() override { return {Tensor::full({}, 1.0), outputs()}; }
    Tensor outputs() override {
      Tensor out = run.examples().y.clone();
      for (float& v : std::span(out.mutable_data<float>(), uz(out.numel())))
        v = std::isnan(v) ? 0.0f : v + error[uz(epoch)];
      return out;
    }
    const Run& run;
    int64_t epoch = 0;
    std::array<float, 4> error{2.0f, 0.5f, 1.0f, 4.0f};
  };
  p.train([&] { return std::make_unique<Constant>(*p.run); });
  CHECK(p.results()[0].best_epoch == 2);
  CHECK(p.results()[0].val_metric == doctest::Approx(0.5).epsilon(1e-3));
  CHECK(p.history()[3].val_metric == doctest::Approx(4.0).epsilon(1e-3));
}

TEST_CASE_FIXTURE(InFolder, "a checkpoint is written every N epochs, at the last one and at an early stop") {
  const struct {
    int64_t every, eval_every, patience;
    std::vector<int64_t> expected;  // the epoch in the file after each epoch
  } cases[] = {{4, 1, 0, {0, 0, 0, 4, 4, 4, 4, 8, 8, 10}},
               {1, 3, 0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
               {100, 1, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 10}},
               {4, 1, 5, {0, 0, 0, 4, 4, 6}},
               {5, 2, 3, {0, 0, 0, 0, 5, 6}}};
  for (const auto& c : cases) {
    CAPTURES(c.every, c.eval_every, c.patience);
    Program p;
    p.options.run.epochs = 10;
    p.options.run.eval_every = c.eval_every;
    p.options.run.patience = c.patience;
    p.options.output.checkpoint = folder.file("c.h5");
    p.options.output.checkpoint_every = c.every;
    std::filesystem::remove(p.options.output.checkpoint);
    std::vector<int64_t> found;
    p.play({kFalling}, [&] { found.push_back(epoch_in(p.options.output.checkpoint)); });
    CHECK(found == c.expected);
    CHECK(models::load_checkpoint(p.options.output.checkpoint).integer("stopped") ==
          (c.patience > 0 ? 1 : 0));
  }
}

namespace {

std::atomic<int> received = 0;
extern "C" void count_signal(int) { ++received; }

}  // namespace

TEST_CASE_FIXTURE(
    InFolder,
    "a signal ends the training after its epoch, with a checkpoint; a second one is not held back") {
  for (const int number : {SIGTERM, SIGINT})
    for (const bool kept : {true, false})
      for (const int64_t eval_every : {1, 4}) {
        CAPTURES(number, kept, eval_every);
        struct sigaction mine {
        }, before{}, after{};
        mine.sa_handler = count_signal;
        sigaction(number, &mine, &before);
        received = 0;
        {
          Program p;
          p.options.run.epochs = 10;
          p.options.run.eval_every = eval_every;
          p.options.output.checkpoint_every = 100;
          if (kept) p.options.output.checkpoint = folder.file(fmt::format("{}-{}.h5", number, eval_every));
          const std::string& path = p.options.output.checkpoint;
          std::string message;
          try {
            p.play({kFalling}, {}, [&](int64_t epoch) {
              if (epoch == 3) raise(number), raise(number);
            });
          } catch (const Interrupted& interrupted) {
            CHECK(interrupted.signal == number);
            message = interrupted.message;
          }
          CHECK(message == (kept ? fmt::format("interrupted after epoch 3; continue with --resume {}", path)
                                 : "interrupted after epoch 3; nothing was written"));
          if (kept) CHECK(epoch_in(path) == 3);
          CHECK(p.run->epoch() == 3);
        }
        CHECK(received == 1);
        sigaction(number, &before, &after);
        CHECK((after.sa_handler == &count_signal));  // as before the training
        Program again;
        again.options.run.epochs = 2;
        again.play({kFalling});  // is not interrupted
        CHECK(again.history().size() == 2);
      }
}

TEST_CASE_FIXTURE(InFolder, "a training resumed from any epoch of any run gives the whole one's record") {
  const std::vector<std::vector<ScriptedEpoch>> scripts{drawn_script(4, 7), drawn_script(5, 7)};
  const auto begin = [&](Program& p) {
    p.options.run.epochs = 7;
    p.options.run.runs = 2;
    p.options.run.patience = 4;
  };
  Program whole;
  begin(whole);
  whole.play(scripts);
  for (const int64_t stop : {1, 3, 7})
    for (const uint64_t run : {0, 1}) {
      CAPTURES(stop, run);
      const std::string path = folder.file(fmt::format("{}-{}.h5", stop, run));
      {
        Program p;
        begin(p);
        p.options.output.checkpoint = path;
        p.options.output.checkpoint_every = 1;
        struct Broken {};
        try {
          p.play(scripts, [&] {
            if (p.run->seed() == run && (p.run->epoch() == stop)) throw Broken{};
          });
        } catch (const Broken&) {
        }
      }
      const int64_t stored_epoch = epoch_in(path);  // earlier than `stop` if patience ended the run
      Program p;
      begin(p);
      p.options.output.resume = path;
      int64_t first = 0, trained = 0;
      p.play(scripts, {}, [&](int64_t epoch) {
        if (trained++ == 0) first = epoch;
      });
      if (stored_epoch == stop && stored_epoch < 7) CHECK(first == stored_epoch + 1);
      check_same(p.run->record(), whole.run->record());
    }
}

TEST_CASE_FIXTURE(InFolder, "a checkpoint that contradicts itself or the options is refused by place") {
  const std::string path = folder.file("c.h5"), changed = folder.file("d.h5");
  const auto begin = [&](Program& p) {
    p.options.run.epochs = 4;
    p.identity = {{"lr", "0.01"}};
  };
  {
    Program p;
    begin(p);
    p.options.output.checkpoint = path;
    p.play({kFalling});
  }
  using Change = std::function<void(models::Checkpoint&, Program&)>;
  const std::pair<Change, std::string> cases[] = {
      {[](auto&, Program& p) { p.options.run.epochs = 3; },
       "--resume after 4 epochs, expected at most --epochs 3"},
      {[](auto&, Program& p) { p.identity["lr"] = "0.1"; }, " was trained with --lr 0.01; this run has 0.1"},
      {[](auto&, Program& p) { p.options.data.features_scaling = FeatureScaling::Kind::none; },
       "facts@features.scaling: 'rows'"},
      {[](auto&, Program& p) { p.options.data.features_bits = 4; }, "facts@features.bits: '32'"},
      {[](auto&, Program& p) { p.options.model.hidden = 5; }, "facts@model: 'GCN 40-4-3'"},
      {[](auto&, Program& p) { p.data = small_dataset(2); },
       "was trained on another dataset: small, 120 nodes"},
      {[](auto&, Program& p) { p.options.run.runs = 2; }, "facts@option.epochs: missing, expected '4'"},
      {[](auto& c, Program&) { c.facts["aggregation"] = "scatter"; }, "facts@aggregation: 'scatter'"},
      {[](auto& c, Program&) { c.facts["task"] = "node"; }, "facts@task: 'node'"},
      {[](auto& c, Program&) { c.facts["features"] = "41"; }, "facts@features: '41'"},
      {[](auto& c, Program&) { c.facts["outputs"] = "4"; }, "facts@outputs: '4'"},
      {[](auto& c, Program&) { c.set("epoch", int64_t{-3}); }, "facts@epoch: -3"},
      {[](auto& c, Program&) { c.set("run", int64_t{1}); }, "facts@run: 1"},
      {[](auto& c, Program&) { c.set("run", int64_t{-1}); }, "facts@run: -1"},
      {[](auto& c, Program&) { c.set("stopped", int64_t{2}); }, "facts@stopped: 2"},
      {[](auto& c, Program&) { c.set("best_epoch", int64_t{400}); }, "facts@best_epoch: 400"},
      {[](auto& c, Program&) { c.set("best_metric", std::nan("")); }, "facts@best_metric: nan"},
      {[](auto& c, Program&) {
         c.set("best_epoch", int64_t{-1}),
             std::erase_if(c.tensors, [](auto& t) { return t.first.starts_with("best."); });
       },
       "facts@best_epoch: -1, expected an epoch in tensors/history of run 0"},
      {[](auto& c, Program&) { c.set("best_metric", 0.25); },
       "facts@best_metric: 0.25, but tensors/history has 0.6666666666666666 at epoch 1"},
      {[](auto& c, Program&) {
         c.tensors["history"] = Tensor::zeros({0, 5}, DType::f64);
       },
       "facts@best_epoch: 1, expected -1 without a row of run 0"},
      {[](auto& c, Program&) {
         c.tensors["history"] = Tensor::zeros({0, 5}, DType::f64);
         c.set("stopped", int64_t{1});
       },
       "facts@stopped: 1, but tensors/history has no row of run 0"}};
  for (const auto& [change, message] : cases) {
    CAPTURE(message);
    Program p;
    begin(p);
    models::Checkpoint checkpoint = models::load_checkpoint(path);
    change(checkpoint, p);
    models::save_checkpoint(checkpoint, changed);
    p.options.output.resume = changed;
    CHECK(mentions(error_of<DataError>([&] { p.play({kFalling}); }), {changed, message}));
  }
}

TEST_CASE("runs take the splits in turn, and seeds in order, from which weights are drawn") {
  Dataset data = small_dataset();
  add_splits(data, 3);
  const struct {
    std::string split;
    int64_t runs;
    std::vector<size_t> expected;
  } cases[] = {{"all", 1, {0, 1, 2}},
               {"all", 5, {0, 1, 2, 0, 1}},
               {"all", 2, {0, 1}},
               {"1", 3, {1, 1, 1}},
               {"2", 1, {2}}};
  for (const auto& c : cases) {
    CAPTURES(c.split, c.runs);
    Program p(data);
    p.options.data.split = c.split;
    p.options.run = {.epochs = 1, .seed = 20, .runs = c.runs};
    p.prepare();
    for (size_t r = 0; r < c.expected.size(); ++r) {
      REQUIRE(p.run->next_run());
      const Split& split = data.splits[c.expected[r]];
      CHECK(p.run->seed() == 20 + r);
      CHECK(default_generator().seed() == 20 + r);
      CHECK(same_bits(p.run->examples().train, split.train));
      CHECK(same_bits(p.run->examples().val, split.val));
      CHECK(same_bits(p.run->examples().test, split.test));
      const auto one = make_model(*p.settings, *p.task);
      manual_seed(20 + r);
      const auto other = make_model(*p.settings, *p.task);
      for (size_t i = 0; i < one->state().size(); ++i)
        CHECK(same_bits(one->state()[i].second, other->state()[i].second));
    }
    CHECK_FALSE(p.run->next_run());
  }
  Program p(data);
  p.options.data.split = "3";
  CHECK(mentions(error_of<UsageError>([&] { p.prepare(); }), "--split: expected 0 to 2 for small, got 3"));
}

TEST_CASE("each run's result is its own, and its epochs are in the history under its number") {
  const std::vector<std::vector<ScriptedEpoch>> scripts{drawn_script(6, 5), drawn_script(7, 5),
                                                        drawn_script(8, 5)};
  Program p;
  p.options.run = {.epochs = 5, .runs = 3};
  const std::string output = printed(STDERR_FILENO, [&] { set_log_level(LogLevel::info), p.play(scripts); });
  REQUIRE(p.results().size() == 3);
  REQUIRE(p.history().size() == 15);
  for (size_t r = 0; r < 3; ++r) {
    const Played expected = played(scripts[r], p.options.run);
    CHECK(p.results()[r].best_epoch == expected.best);
    for (size_t e = 0; e < 5; ++e) {
      CHECK(p.history()[5 * r + e].run == static_cast<int64_t>(r));
      CHECK(p.history()[5 * r + e].train_loss == scripts[r][e].train_loss);
    }
    CHECK(mentions(
        output,
        fmt::format("run {}/3: test accuracy {:.4f} at epoch {}\n", r + 1,
                    static_cast<double>(scripts[r][uz(expected.best - 1)].test_hits) / 40.0, expected.best)));
  }
}

TEST_CASE("an early stop is printed with its epoch, numbers and reason; progress with the last validation") {
  for (const PatienceOn criterion : {PatienceOn::metric, PatienceOn::either})
    for (const int64_t runs : {1, 2}) {
      CAPTURES(std::string(name_of(criterion)), runs);
      Program p;
      p.options.run = {.epochs = 10, .runs = runs, .patience = 4, .patience_on = criterion};
      if (criterion == PatienceOn::either) p.options.run.patience = 3;
      auto script = kFalling;
      for (size_t e = 0; e < script.size(); ++e) script[e].val_loss = 1.0 + static_cast<double>(e);
      const std::string output =
          printed(STDERR_FILENO, [&] { set_log_level(LogLevel::info), p.play({script}); });
      CHECK(mentions(output, "GCN 40-4-3 on cpu\n"));
      if (runs == 2)
        CHECK(mentions(output,
                       {fmt::format("run 1/2: test accuracy 0.0250 at epoch 1; stopped after {} of 10\n",
                                    1 + p.options.run.patience),
                        "run 1/2  epoch ", "/10  loss 1.0000", "run 2/2: test "}));
      else
        CHECK(mentions(output,
                       criterion == PatienceOn::metric
                           ? "epoch 5/10  loss 1.0000  validation 0.5333  (stopped: no better validation "
                             "accuracy for 4 epochs)"
                           : "epoch 4/10  loss 1.0000  validation 0.5667  (stopped: validation accuracy and "
                             "loss worse than before for 3 epochs)"));
    }
  Program p;
  p.options.run = {.epochs = 10, .eval_every = 4};
  const std::string output =
      printed(STDERR_FILENO, [&] { set_log_level(LogLevel::info), p.play({kFalling}); });
  CHECK(mentions(output, {"epoch 3/10  loss 1.0000\n", "epoch 4/10  loss 1.0000  validation 0.5667\n",
                          "epoch 7/10  loss 1.0000  validation 0.5667 (epoch 4)\n",
                          "epoch 10/10  loss 1.0000  validation 0.3667\n"}));
  CHECK(output.find("stopped") == std::string::npos);
}

TEST_CASE_FIXTURE(InFolder, "what is not finite ends the training, with its epochs and its name") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const auto message = [&](int64_t eval_every, std::vector<ScriptedEpoch> script,
                           const std::function<void(Program&, int64_t)>& during = {},
                           int64_t checkpoint_every = 0) {
    Program p;
    p.options.run = {.epochs = 6, .eval_every = eval_every};
    if (checkpoint_every > 0) {
      p.options.output.checkpoint = folder.file("c.h5");
      p.options.output.checkpoint_every = checkpoint_every;
    }
    return error_of([&] {
      p.play({std::move(script)}, {}, [&](int64_t epoch) {
        if (during) during(p, epoch);
      });
    });
  };
  const auto with = [&](size_t epoch, double ScriptedEpoch::*field, double value) {
    auto script = kFalling;
    script[epoch - 1].*field = value;
    return script;
  };
  const std::string lr = "; try a smaller --lr";
  CHECK(message(1, with(2, &ScriptedEpoch::train_loss, nan)) == "epoch 2: the training loss is nan" + lr);
  CHECK(message(3, with(6, &ScriptedEpoch::train_loss, inf)) ==
        "epochs 4 to 6: the training loss is inf" + lr);
  CHECK(message(3, with(2, &ScriptedEpoch::train_loss, inf)) ==
        "epochs 1 to 3: a training loss was not finite" + lr);
  CHECK(message(6, with(2, &ScriptedEpoch::train_loss, inf), {}, 4) ==
        "epochs 1 to 4: a training loss was not finite" + lr);
  CHECK(message(1, with(3, &ScriptedEpoch::val_loss, nan)) == "epoch 3: the validation loss is nan" + lr);
  const auto spoil = [](int64_t when, double value) {
    return [=](Program& p, int64_t epoch) {
      Tensor last = p.model->state().back().second;
      if (epoch == when) last.fill_(value);
    };
  };
  CHECK(mentions(message(1, kFalling, spoil(4, inf)), {"epoch 4: the parameter convs.1.", " is not finite"}));
  CHECK(mentions(message(4, kFalling, spoil(4, nan)), "epochs 1 to 4: the parameter convs.1."));

  struct Infinite : PlayedEpochs {  // outputs beyond float32 in evaluation, or only at the end, in no split
    Infinite(const Run& parent, bool end) : run(parent), at_end(end) {}
    Tensor train(int64_t) override { return Tensor::full({}, 1.0); }
    Evaluation validate() override {
      return {Tensor::full({}, at_end ? 1.0 : std::nan("")), at_end ? zeros() : outputs()};
    }
    Tensor zeros() const { return Tensor::zeros({120, run.examples().outputs}); }
    Tensor outputs() override { return Tensor::full(zeros().shape(), std::nan("")); }
    const Run& run;
    const bool at_end;
  };
  for (const bool numbers : {false, true}) {
    const std::string outputs = numbers ? "predictions" : "logits";
    for (const bool end : {false, true}) {
      Program p(numbers ? small_regression_dataset() : small_dataset());
      p.options.run.epochs = 2;
      CHECK(error_of([&] { p.train([&] { return std::make_unique<Infinite>(*p.run, end); }); }) ==
            (end ? fmt::format("epoch 1: the {} are not finite{}", outputs, lr)
                 : fmt::format("epoch 1: the {} are not finite, and the validation loss is nan{}", outputs,
                               lr)));
    }
  }
}

TEST_CASE("Adam decays where the model says so, in groups that follow their own rule") {
  for (const bool some : {true, false}) {
    CAPTURE(some);
    Program p(small_dataset(), some ? models::gcn() : models::gat());
    p.options.run.lr = 0.25;
    p.options.run.weight_decay = 0.5;
    p.prepare();
    REQUIRE(p.next_run());
    CHECK(p.adam->num_groups() == (some ? 2 : 1));
    std::vector<Numbers> before;
    for (const auto& [name, parameter] : p.model->named_parameters())
      before.push_back(values(parameter.value()));
    for (auto [name, parameter] : p.model->named_parameters())
      parameter.set_grad(Tensor::zeros(parameter.shape()));
    p.adam->step();
    // Adam's first step is of size lr in the direction of the gradient, here that of the decay.
    size_t k = 0;
    for (const auto& [name, parameter] : p.model->named_parameters()) {
      CAPTURE(name);
      Numbers expected = before[k++];
      if (p.model->decays(name))
        for (double& v : expected) v -= v == 0.0 ? 0.0 : 0.25 * v / (std::abs(v) + 2e-8);
      CHECK(close(parameter.value(), expected, 1e-5));
    }
  }
}

TEST_CASE_FIXTURE(InFolder, "events have each run's numbers, a folder a run") {
  const auto script = drawn_script(9, 3);
  for (const int64_t runs : {1, 2}) {
    Program p;
    p.options.run = {.epochs = 3, .lr = 0.125, .runs = runs};
    p.options.output.tensorboard = folder.file(fmt::format("events-{}", runs));
    p.play({script});
    Numbers seconds;
    for (int64_t r = 0; r < runs; ++r) {
      const std::string directory = runs == 1 ? p.options.output.tensorboard
                                              : p.options.output.tensorboard + fmt::format("/run-{}", r + 1);
      std::vector<std::filesystem::path> files;
      for (const auto& entry : std::filesystem::directory_iterator(directory)) files.push_back(entry.path());
      REQUIRE(files.size() == 1);
      const std::string text = contents_of(files[0].string());
      const auto scalars = [&](const std::string& tag) {  // of each event: the tag, then 0x15 and a float
        Numbers found;
        for (size_t i = text.find(tag); i != std::string::npos; i = text.find(tag, i + 1)) {
          float value = 0.0f;
          REQUIRE(text[i + tag.size()] == 0x15);
          std::memcpy(&value, text.data() + i + tag.size() + 1, sizeof value);
          found.push_back(static_cast<double>(value));
        }
        return found;
      };
      Numbers train, val, accuracy;
      for (const ScriptedEpoch& e : script) {
        train.push_back(e.train_loss), val.push_back(e.val_loss);
        accuracy.push_back(static_cast<double>(static_cast<float>(static_cast<double>(e.val_hits) / 30.0)));
      }
      CHECK(scalars("loss/train") == train);
      CHECK(scalars("loss/validation") == val);
      CHECK(scalars("accuracy/validation") == accuracy);
      CHECK(scalars("learning_rate") == Numbers(3, 0.125));
      const Numbers now = scalars("seconds");
      seconds.insert(seconds.end(), now.begin(), now.end());
    }
    std::sort(seconds.begin(), seconds.end());
    const size_t count = seconds.size();
    CHECK(seconds.front() > 0.0);
    CHECK(p.run->epoch_ms() == doctest::Approx(500.0 * (seconds[(count - 1) / 2] + seconds[count / 2]))
                                   .epsilon(1e-5));  // the median
    Program again;
    again.options.output.tensorboard = p.options.output.tensorboard;
    again.options.run.runs = runs;
    CHECK(mentions(error_of<DataError>([&] { again.play({script}); }), "already holds events of a training"));
  }
}

TEST_CASE("a run describes its batches and its summary") {
  Program p;
  p.options.run.seed = 7;
  p.options.batches.batch_size = 11;
  p.options.batches.workers = "3";
  p.values = {{"lr", "0.01"}};
  p.prepare();
  REQUIRE(p.next_run());
  CHECK(p.run->epoch_ms() == 0.0);
  CHECK(p.run->profiler() == nullptr);
  CHECK(p.run->model() == "GCN 40-4-3");
  const LoaderOptions training = p.run->training_batches(), all = p.run->layer_wise();
  CHECK((training.batch_size == 11 && training.shuffle && training.seed == 7 && training.workers == 3));
  CHECK((all.batch_size == 11 && !all.shuffle && all.workers == 3));
  const RunSummary summary = p.run->summary();
  CHECK((summary.program == "train_gcn" && summary.version == version() && summary.device == "cpu"));
  CHECK(summary.options == p.values);
  p.options.output.profile = true;
  p.prepare();
  CHECK(p.run->profiler() != nullptr);
}
