#pragma once

#include "../apps/json.h"
#include "../apps/small_dataset.h"
#include "../reference/plain.h"
#include <adjoint/core/log.h>
#include <adjoint/kernels/compute_context.h>
#include <adjoint/models/family.h>
#include <adjoint/training.h>

#include <memory>
#include <optional>
#include <random>

// Trainings inside the test's own process, and epochs whose losses and outputs a test gives.

namespace adj::test {

using namespace training;

/// What f() writes to a descriptor (STDOUT_FILENO, STDERR_FILENO), with messages from `level` on.
template <class F>
std::string printed(int descriptor, F&& f, LogLevel level = LogLevel::info) {
  const TemporaryDirectory folder;
  struct Redirected {
    int target, before;
    LogLevel level;
    ~Redirected() {
      std::fflush(nullptr);
      dup2(before, target);
      ::close(before);
      set_log_level(level);
    }
  };
  {
    std::fflush(nullptr);
    const Redirected scope{descriptor, dup(descriptor), log_level()};
    const int file = open(folder.file("text").c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(file, descriptor);
    ::close(file);
    set_log_level(level);
    f();
  }
  return contents_of(folder.file("text"));
}

/// One epoch of Scripted: its losses, and how many of the validation and test nodes are predicted correctly.
struct ScriptedEpoch {
  double train_loss, val_loss;
  int64_t val_hits, test_hits;
};

/// Epochs without batches, whose training and evaluation a test writes.
struct PlayedEpochs : Batches<NodeBatch> {
  /// Trains the epoch after `done` ones: its mean loss.
  virtual Tensor train(int64_t done) = 0;
  std::unique_ptr<Pass<NodeBatch>> pass(int64_t /*done*/) override {
    return std::make_unique<SinglePass<NodeBatch>>(NodeBatch{});
  }
};

/// Batches and a step, an epoch at a time.
template <class Batch>
struct Stepped {
  Stepped(std::unique_ptr<Batches<Batch>> source, const std::function<Var(const Batch&)>& each)
      : batches(std::move(source)), step(*batches, each) {}
  /// The mean loss of the epoch after `done` ones.
  Tensor train(int64_t done) {
    Epoch<Batch> epoch(*batches, done);
    for (const Batch& batch : epoch) epoch.add(step(batch));
    return epoch.mean();
  }
  Evaluation validate() { return batches->validate(); }
  Tensor outputs() { return batches->outputs(); }

  std::unique_ptr<Batches<Batch>> batches;
  Step<Batch> step;
};
template <class Batch>
std::unique_ptr<Stepped<Batch>> stepped(std::unique_ptr<Batches<Batch>> batches,
                                        const std::function<Var(const Batch&)>& step) {
  return std::make_unique<Stepped<Batch>>(std::move(batches), step);
}
using NodeStep = std::function<Var(const NodeBatch&)>;

/// Epochs of a model of classes that do what a script says. Every weight is set to the epoch's number, and
/// the outputs are those of the epoch in the weights: logits of 2 for the predicted class, 0 for others.
class Scripted : public PlayedEpochs {
 public:
  Scripted(const Run& run, models::Model& model, std::vector<ScriptedEpoch> script,
           std::function<void(int64_t)> during = {})
      : run_(run), model_(model), script_(std::move(script)), during_(std::move(during)) {}

  Tensor train(int64_t done) override {
    for (auto& [name, tensor] : model_.state()) Tensor(tensor).fill_(static_cast<double>(done + 1));
    if (during_) during_(done + 1);
    return Tensor::full({}, now().train_loss);
  }
  Evaluation validate() override { return {Tensor::full({}, now().val_loss), outputs()}; }
  Tensor outputs() override {
    const Examples& examples = run_.examples();
    const auto y = examples.y.to_vector<int32_t>();
    const auto classes = static_cast<size_t>(examples.outputs);
    std::vector<float> logits(y.size() * classes);
    const auto predict = [&](size_t i, bool hit) {
      logits[i * classes + (static_cast<size_t>(std::max(y[i], 0)) + (hit ? 0 : 1)) % classes] = 2.0f;
    };
    const auto val = examples.val.to_vector<int32_t>(), test = examples.test.to_vector<int32_t>();
    for (size_t k = 0; k < val.size(); ++k) predict(uz(val[k]), k < uz(now().val_hits));
    for (size_t k = 0; k < test.size(); ++k) predict(uz(test[k]), k < uz(now().test_hits));
    return Tensor::from(logits, {std::ssize(y), examples.outputs});
  }

 private:
  const ScriptedEpoch& now() const {
    return script_.at(static_cast<size_t>(values(model_.state().front().second).front()) - 1);
  }

  const Run& run_;
  models::Model& model_;
  const std::vector<ScriptedEpoch> script_;
  const std::function<void(int64_t)> during_;
};

/// A training program: options, data, and the loop of apps/train_gcn.cpp.
struct Program {
  using OptionTexts = std::vector<std::pair<std::string, std::string>>;

  const ComputeScope scope{{}};
  Options options;
  Settings::Texts defaults, values, identity;  // as if read, for Settings
  OptionTexts hyperparameters;
  Dataset data;
  std::optional<Settings> settings;
  std::optional<LearningTask> task;
  std::optional<Run> run;
  std::unique_ptr<models::NodeModel> model;
  std::unique_ptr<optim::Optimizer> adam;

  explicit Program(const Dataset& dataset = small_dataset(), models::ModelFamily family = models::gcn(),
                   const OptionTexts& texts = {})
      : options(std::move(family), "A test."), data(dataset) {
    set_log_level(LogLevel::warning);
    options.model.hidden = 4;
    options.batches.loaders = {neighbor_loader(), cluster_loader(), saint_loader()};
    set(texts);
  }
  ~Program() { set_log_level(LogLevel::info); }

  /// Options by name, as on a command line.
  void set(const OptionTexts& texts) { set(options, texts); }
  static void set(Options& options, const OptionTexts& texts) {
    for (const auto& [name, text] : texts) {
      bool found = false;
      for (const Options::Group& group : options.groups())
        for (const Option& option : group.options)
          if (option.name == name) {
            found = true;
            if (auto* integer = std::get_if<int64_t*>(&option.value)) **integer = std::stoll(text);
            if (auto* number = std::get_if<double*>(&option.value)) **number = std::stod(text);
            if (auto* flag = std::get_if<bool*>(&option.value)) **flag = text == "true";
            if (auto* words = std::get_if<std::string*>(&option.value)) **words = text;
            if (auto* choice = std::get_if<Choice>(&option.value)) choice->set(name, text);
          }
      REQUIRE_MESSAGE(found, "no option " << name);
    }
  }
  void prepare() {
    settings.emplace(options, defaults);
    settings->values = values;
    settings->identity = identity;
    settings->hyperparameters = hyperparameters;
    task.emplace(*settings, data, node_examples(*settings, data));
    run.emplace(*settings, *task);
  }
  /// The first run, begun, and its epochs by --loader with this step.
  std::unique_ptr<Stepped<NodeBatch>> first_epochs(const NodeStep& step) {
    prepare();
    REQUIRE(next_run());
    return stepped(node_batches(*run, *model), step);
  }
  bool next_run() {
    if (!run->next_run()) return false;
    model = make_model(*settings, *task);
    adam = make_optimizer(*model, settings->run);
    run->begin(*model, *adam);
    return true;
  }
  /// All runs, with the epochs of make(); each(epoch) follows each epoch.
  void train(const std::function<std::unique_ptr<PlayedEpochs>()>& make,
             const std::function<void()>& each = {}) {
    prepare();
    while (next_run()) {
      const std::unique_ptr<PlayedEpochs> played = make();
      auto epochs = run->epochs(*played);
      for (auto epoch = epochs.begin(); epoch != epochs.end();) {
        for ([[maybe_unused]] const NodeBatch& batch : *epoch) (*epoch).add(played->train((*epoch).done()));
        ++epoch;
        if (each) each();
      }
    }
  }
  /// All runs, each by its script: the same for all if there is one only.
  void play(const std::vector<std::vector<ScriptedEpoch>>& scripts, const std::function<void()>& each = {},
            const std::function<void(int64_t)>& during = {}) {
    train(
        [&] {
          const size_t r = scripts.size() == 1 ? 0 : run->seed() - static_cast<size_t>(settings->run.seed);
          return std::make_unique<Scripted>(*run, *model, scripts.at(r), during);
        },
        each);
  }
  /// All runs, of --loader; the step is that of the programs.
  void learn() {
    prepare();
    while (next_run()) {
      const auto batches = node_batches(*run, *model);
      Step step(*batches, [&](const NodeBatch& batch) {
        Var loss = run->objective().loss_of_batch(batch.forward(*model), batch.y, batch.index, batch.weight);
        loss.backward();
        adam->step();
        return loss;
      });
      for (auto& epoch : run->epochs(*batches))
        for (const NodeBatch& batch : epoch) epoch.add(step(batch));
    }
  }
  const std::vector<EpochRecord>& history() const { return run->record().history; }
  const std::vector<RunResult>& results() const { return run->record().results; }
  /// The members of --json, and what is printed before.
  std::map<std::string, std::string> json() {
    options.output.json = true;
    return json_of(Outcome{0, text(), ""});
  }
  std::string text() {  // by the options of now
    settings->data = options.data;
    settings->compute = options.compute;
    settings->output = options.output;
    return printed(STDOUT_FILENO, [&] { write_results(*run); });
  }
};

/// Checks that all numbers but ROC-AUC are the same.
inline void check_same(const TrainingRecord& a, const TrainingRecord& b) {
  const auto epoch = [](const EpochRecord& r) {
    return std::tie(r.run, r.epoch, r.train_loss, r.val_loss, r.val_metric);
  };
  const auto result = [](const RunResult& r) {
    return std::tie(r.train_loss, r.val_metric, r.test_metric, r.best_epoch, r.test_loss, r.val_loss,
                    r.epochs_run, r.reported);
  };
  REQUIRE(a.history.size() == b.history.size());
  REQUIRE(a.results.size() == b.results.size());
  for (size_t i = 0; i < a.history.size(); ++i) CHECK(epoch(a.history[i]) == epoch(b.history[i]));
  for (size_t i = 0; i < a.results.size(); ++i) CHECK(result(a.results[i]) == result(b.results[i]));
}

/// The loss of logits or standardised predictions over `index`, by a plain loop: cross-entropy of one class,
/// else the mean over all known labels of binary cross-entropies or squared errors.
inline double plain_loss(Labels labels, const Tensor& out, const Tensor& y, const Tensor& index,
                         const Numbers& weight = {}) {
  const Numbers x = values(out), t = values(y);
  const auto columns = static_cast<size_t>(out.size(1));
  double sum = 0.0, count = 0.0;
  const auto rows = index.to_vector<int32_t>();
  for (size_t k = 0; k < rows.size(); ++k) {
    const size_t offset = uz(rows[k]) * columns;
    double loss = 0.0, known = 0.0, exponentials = 0.0;
    for (size_t c = 0; c < columns; ++c) {
      exponentials += std::exp(x[offset + c]);
      if (labels == Labels::classes || std::isnan(t[offset + c])) continue;
      const double z = x[offset + c], target = t[offset + c];
      loss += labels == Labels::numbers ? (z - target) * (z - target)
                                        : std::log1p(std::exp(-std::abs(z))) + std::max(z, 0.0) - z * target;
      ++known;
    }
    if (labels == Labels::classes)
      loss = std::log(exponentials) - x[offset + static_cast<size_t>(t[uz(rows[k])])], known = 1.0;
    // A weighted sum is of means over all columns.
    sum += weight.empty()
               ? loss
               : weight[k] * loss / (labels == Labels::classes ? 1.0 : static_cast<double>(columns));
    count += known;
  }
  return weight.empty() ? sum / count : sum;
}

/// Epochs with hits and losses drawn from a seed.
inline std::vector<ScriptedEpoch> drawn_script(uint64_t seed, int64_t epochs) {
  std::mt19937 generator(static_cast<uint32_t>(seed));
  std::vector<ScriptedEpoch> script;
  for (int64_t e = 0; e < epochs; ++e) {
    const auto draw = [&](uint32_t count) { return static_cast<int64_t>(generator() % count); };
    script.push_back({0.25 * static_cast<double>(1 + draw(9)), 0.125 * static_cast<double>(1 + draw(6)),
                      20 + draw(6), draw(40)});
  }
  return script;
}

/// The cross-entropy of Scripted's logits with `hits` of `count` nodes of three classes.
inline double scripted_loss(int64_t hits, int64_t count) {
  return std::log(std::exp(2.0) + 2.0) - 2.0 * static_cast<double>(hits) / static_cast<double>(count);
}

}  // namespace adj::test
