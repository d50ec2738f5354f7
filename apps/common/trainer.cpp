#include "trainer.h"

#include "feature_place.h"
#include "stopwatch.h"
#include <adjoint/optim/non_finite.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace adj::apps {

namespace {

volatile std::sig_atomic_t caught = 0;
struct sigaction before_int, before_term;
extern "C" void catch_signal(int number) {
  caught = number;
  sigaction(number, number == SIGINT ? &before_int : &before_term, nullptr);
}

/// While alive, the first SIGINT or SIGTERM waits for the end of the epoch; a second one is as before.
class SignalScope {
 public:
  SignalScope() {
    struct sigaction action {};
    action.sa_handler = catch_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, nullptr, &before_int);
    sigaction(SIGTERM, nullptr, &before_term);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
  }
  ~SignalScope() {
    sigaction(SIGINT, &before_int, nullptr);
    sigaction(SIGTERM, &before_term, nullptr);
  }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;
};

/// The area under the curve on the test examples; NaN unless there are two classes, both among them.
double test_auc(const Examples& examples, const Tensor& logits) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (examples.labels != Labels::classes || examples.outputs != 2) return kNone;
  const auto labels = examples.y.to_vector<int32_t>();
  const auto test = examples.test.to_vector<int32_t>();
  const auto positive =
      std::count_if(test.begin(), test.end(), [&](int32_t i) { return labels[static_cast<size_t>(i)] == 1; });
  if (positive == 0 || static_cast<size_t>(positive) == test.size()) return kNone;
  return metric_named("auc", examples.labels, examples.outputs).of(logits, examples.y, examples.test);
}

/// By which the dataset and what is learned of it on the split in use are known again.
std::string fingerprint_of(const Dataset& data, const Examples& examples) {
  Dataset described = data;
  described.train = examples.train;
  described.val = examples.val;
  described.test = examples.test;
  return fingerprint(described);
}

/// Adam over all parameters; weight decay where the model has it.
std::unique_ptr<optim::Optimizer> make_adam(const Model& model, const Settings& settings) {
  optim::Group<optim::AdamOptions> decayed{{}, {.lr = settings.lr, .weight_decay = settings.weight_decay}};
  optim::Group<optim::AdamOptions> free{{}, {.lr = settings.lr}};
  for (const auto& [name, parameter] : model.named_parameters())
    (model.decays(name) ? decayed : free).parameters.push_back(parameter);
  std::vector<optim::Group<optim::AdamOptions>> groups;
  for (auto* group : {&decayed, &free})
    if (!group->parameters.empty()) groups.push_back(std::move(*group));
  return std::make_unique<optim::Adam>(groups);
}

/// What the numbers that a model gives are called.
std::vector<std::string> named_outputs(const Dataset& data, const Examples& examples) {
  return examples.task == name_of(data.task) ? data.class_names : std::vector<std::string>();
}

}  // namespace

Trainer::Trainer(const Program& program, const CommandLine& line, const Dataset& data,
                 const optim::Preprocessing& features, const Examples& examples, const Metric& metric,
                 std::vector<size_t> splits)
    : program_(program),
      line_(line),
      settings_(line.settings),
      data_(data),
      examples_(examples),
      metric_(metric),
      reported_(program.metrics ? program.metrics(settings_) : std::vector<Metric>()),
      splits_(std::move(splits)),
      preprocessing_{features.scaling, named_outputs(data, examples), features.quantization},
      num_features_(data.num_features()) {
  if (!settings_.checkpoint.empty() || !settings_.resume.empty())
    for (const size_t split : splits_) {
      examples_.use_split(split);
      fingerprint_ += (fingerprint_.empty() ? "" : "; ") + fingerprint_of(data_, examples_);
    }
  if (settings_.loader != "none") source_ = feature_store(data_, settings_);
  if (settings_.features == "device") {
    features_ = data_.x.to(feature_dtype(settings_));
  } else {
    data_.x = {};  // of which a GPU reads a copy
  }
  start_run();
  if (settings_.aggregation == "measure") {
    measure_aggregation(training());
    edges_.reset();
    start_run();
  }
}

void Trainer::choose_split() {
  examples_.use_split(splits_[static_cast<size_t>(run_) % splits_.size()]);
  objective_ = Objective(examples_);
}

void Trainer::start_run() {
  manual_seed(static_cast<uint64_t>(settings_.seed + run_));
  epochs_.reset();
  state_.reset();
  best_.reset();
  optimizer_.reset();
  choose_split();
  model_ = program_.family.make(num_features_, examples_.outputs, settings_);
  model_->to(data_.device());
  model_->to(feature_dtype(settings_));
  if (program_.begin) program_.begin(*model_, preprocessing_.scaling, settings_);
  name_ = model_->describe();
  if (settings_.inductive && !edges_) {
    const detail::ListUse use = use_of_epoch(dynamic_cast<NodeModel&>(*model_));
    if (use.sums == 0 && (settings_.aggregation == "scatter" || settings_.aggregation == "measure"))
      throw UsageError(
          fmt::format("--aggregation {}: {} takes no sums over neighbours that an edge list serves "
                      "for; expected auto or reduce",
                      settings_.aggregation, name_));
    edges_.emplace(data_.graph, use, feature_dtype(settings_));
  }
  optimizer_ = make_adam(*model_, settings_);
  best_ = std::make_unique<optim::EarlyStopping>(*model_, settings_.patience);
  epoch_ = looked_at_ = 0;
  stopped_ = false;
  describe_state();
}

void Trainer::run() {
  caught = 0;
  const SignalScope signals;
  Progress progress(settings_.runs * settings_.epochs, run_ * settings_.epochs + epoch_);
  while (true) {
    train_epochs(progress);
    progress.shorten(settings_.epochs - epoch_);
    finish_run();
    if (++run_ == settings_.runs) return;
    start_run();
  }
}

void Trainer::train_epochs(Progress& progress) {
  const Device device = data_.device();
  std::optional<optim::NonFiniteMonitor> between;  // of losses that nobody reads
  if (settings_.eval_every > 1) between.emplace(device);
  const auto require_finite_between = [&] {
    if (between && !between->all_finite())
      fail("{}: a training loss among them was not finite; try a smaller --lr", since_last_look());
  };
  optim::NonFiniteMonitor* losses = between ? &*between : nullptr;
  epochs_ = program_.epochs ? program_.epochs(training(), losses)
                            : make_epochs(training(), edges_ ? &*edges_ : nullptr, losses);

  Stopwatch watch;
  watch.start();
  while (epoch_ < settings_.epochs && !stopped_) {
    const Tensor loss = epochs_->train(epoch_);
    ++epoch_;
    watch.count();
    const bool last = epoch_ == settings_.epochs;
    const bool evaluated = last || epoch_ % settings_.eval_every == 0;
    bool keep = epoch_ % settings_.checkpoint_every == 0 || caught != 0;
    if (evaluated || keep) epoch_ms_.push_back(watch.stop(device));
    if (evaluated) {
      const double train_loss = loss.item();
      if (std::isfinite(train_loss)) require_finite_between();
      evaluate(train_loss);
      const EpochRecord& now = record_.history.back();
      const double score = metric_.score(now.val_metric);
      stopped_ = settings_.patience_on == "either" ? best_->observe(epoch_, score, now.val_loss)
                                                   : best_->observe(epoch_, score);
    }
    if (progress.due()) {
      progress.label(count());
      progress.note(note(loss.item()));
    }
    keep = keep || last || stopped_;
    if (keep && !settings_.checkpoint.empty()) {
      if (between && !evaluated && optim::first_not_finite(model_->state()).empty()) require_finite_between();
      state_->save(settings_.checkpoint, epoch_);  // which refuses what is not finite
    }
    stopped_early() ? progress.shorten(1) : progress.advance();  // of which finish_run() speaks
    if (caught != 0)
      throw Interrupted{caught, settings_.checkpoint.empty()
                                    ? fmt::format("interrupted after epoch {}; nothing was written", epoch_)
                                    : fmt::format("interrupted after epoch {}; --resume {} goes on", epoch_,
                                                  settings_.checkpoint)};
    if (evaluated || keep) watch.start();
  }
}

std::string Trainer::count() const {
  const std::string epoch = fmt::format("epoch {}/{}", epoch_, settings_.epochs);
  return settings_.runs < 2 ? epoch : fmt::format("{}  {}", run_name(), epoch);
}

std::string Trainer::run_name() const {
  return fmt::format("{} {}/{}", examples_.cross_validated ? "fold" : "run", run_ + 1, settings_.runs);
}

std::string Trainer::note(double train_loss) const {
  std::string text = fmt::format("loss {:.4f}", train_loss);
  if (record_.history.empty() || record_.history.back().run != run_) return text;
  const EpochRecord& last = record_.history.back();
  text += fmt::format("  validation {:.4f}", last.val_metric);
  if (last.epoch != epoch_) text += fmt::format(" (epoch {})", last.epoch);
  return text;
}

std::string Trainer::since_last_look() const {
  return epoch_ == looked_at_ + 1 ? fmt::format("epoch {}", epoch_)
                                  : fmt::format("epochs {} to {}", looked_at_ + 1, epoch_);
}

// The loss is read here anyway and the parameters cost one pass beside a whole forward one; one of them that
// is not finite does not become so again. A loss may, whence the watch over those between.
void Trainer::evaluate(double train_loss) {
  if (!std::isfinite(train_loss))
    fail("{}: the training loss is {}; try a smaller --lr", since_last_look(), train_loss);
  optim::require_finite(*model_, since_last_look());
  const Epochs::Evaluation now = epochs_->validate();
  const double val_loss = now.loss.item();
  if (!std::isfinite(val_loss)) {
    const bool overflow = !optim::first_not_finite({{"logits", now.outputs}}).empty();
    fail("{}: the {} {}; try a smaller --lr", since_last_look(),
         overflow ? fmt::format("{} are not finite, and the validation loss is", outputs_name())
                  : "validation loss is",
         val_loss);
  }
  looked_at_ = epoch_;
  record_.history.push_back(
      {run_, epoch_, train_loss, val_loss, metric_.of(now.outputs, examples_.y, examples_.val)});
}

const char* Trainer::outputs_name() const {
  return examples_.labels == Labels::numbers ? "predictions" : "logits";
}

void Trainer::finish_run() {
  best_->restore();
  output_ = epochs_->outputs();
  // Of examples in no part of the split, too: predictions hold all of them.
  if (!optim::first_not_finite({{"logits", output_}}).empty())
    fail("epoch {}: the {} are not finite; try a smaller --lr", best_->best_epoch(), outputs_name());
  RunResult result{record_.history.back().train_loss,
                   metric_.score(best_->best_metric()),
                   metric_.of(output_, examples_.y, examples_.test),
                   test_auc(examples_, output_),
                   best_->best_epoch(),
                   objective_.loss_of_output(output_, examples_.test)};
  for (const Metric& metric : reported_)
    for (const Tensor* part : {&examples_.val, &examples_.test})
      result.reported.push_back(metric.of(output_, examples_.y, *part));
  if (const std::string remark = model_->remark(); !remark.empty()) log_info("{}", remark);
  if (settings_.runs > 1)
    log_info("{}: {}{} {:.4f} at epoch {}{}", run_name(), examples_.cross_validated ? "" : "test ",
             metric_.name, result.test_metric, result.best_epoch,
             stopped_early() ? fmt::format("; stopped after {} of {}", epoch_, settings_.epochs) : "");
  else if (stopped_early())
    log_info("{}  {}  (stopped: {} for {} epochs)", count(), note(result.train_loss),
             settings_.patience_on == "either"
                 ? fmt::format("validation {} and loss worse than before", metric_.name)
                 : fmt::format("no better validation {}", metric_.name),
             settings_.patience);
  record_.add(std::move(result));
}

double Trainer::epoch_ms() const {
  if (epoch_ms_.empty()) return 0.0;
  std::vector<double> sorted = epoch_ms_;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0;
}

void Trainer::describe_state() {
  state_ = std::make_unique<optim::TrainingState>(program_.name(), *model_, *optimizer_);
  for (const auto& [option, text] : line_.identity) state_->require("option." + option, text);
  state_->require("features.scaling", std::string(name_of(preprocessing_.scaling.kind())),
                  [](const optim::Checkpoint& before) {
                    return std::string(name_of(optim::Preprocessing::scaling_kind(before)));
                  });
  state_->require("features.bits", fmt::format("{}", preprocessing_.quantization.bits()),
                  [](const optim::Checkpoint& before) {
                    return fmt::format("{}", optim::Preprocessing::feature_bits(before));
                  });
  if (settings_.runs > 1) state_->require("option.epochs", fmt::format("{}", settings_.epochs));
  state_->require("dataset", fingerprint_).require("model", name_).add(*best_);
  // With the options, what `predict` makes the model of.
  state_->require("aggregation", aggregation())
      .require("task", examples_.task)
      .require("features", fmt::format("{}", num_features_))
      .require("outputs", fmt::format("{}", examples_.outputs));
  state_->add([this](optim::Checkpoint& to) { save(to); },
              [this](const optim::Checkpoint& from) { load(from); });
}

void Trainer::resume(const std::string& path) {
  epoch_ = looked_at_ = state_->resume(path);  // which refuses what is not finite
  if (epoch_ > settings_.epochs)
    data_fail("{}: facts@epoch: {}, expected 0 to {}", path, epoch_, settings_.epochs);
  if (epoch_ == settings_.epochs && best_->best_epoch() < 0)
    data_fail("{}: tensors/history: no row of run {} after {} epochs", path, run_, epoch_);
}

// Model, optimizer, generator and the best weights are the state's own.

void Trainer::save(optim::Checkpoint& checkpoint) const {
  checkpoint.set("run", run_);
  checkpoint.set("stopped", int64_t{stopped_});
  record_.write(checkpoint, reported_);
  preprocessing_.save(checkpoint);
  if (!objective_.mean()) return;
  checkpoint.tensors["targets.mean"] = objective_.mean();
  checkpoint.tensors["targets.deviation"] = objective_.deviation();
}

void Trainer::load(const optim::Checkpoint& checkpoint) {
  run_ = checkpoint.integer("run", 0, settings_.runs - 1);
  choose_split();
  stopped_ = checkpoint.integer("stopped", 0, 1) != 0;
  record_ = TrainingRecord::read(checkpoint, metric_, reported_, run_, settings_.epochs);
  const bool begun = !record_.history.empty() && record_.history.back().run == run_;
  if (stopped_ && !begun)
    data_fail("{}: facts@stopped: 1, but tensors/history has no row of run {}", checkpoint.path, run_);
  const EpochRecord* best = record_.row_of(run_, best_->best_epoch());
  if (begun ? best == nullptr : best_->best_epoch() != -1)
    data_fail("{}: facts@best_epoch: {}, expected {} of run {}", checkpoint.path, best_->best_epoch(),
              begun ? "an epoch in tensors/history" : "-1, for it has no row", run_);
  if (best != nullptr && metric_.score(best->val_metric) != best_->best_metric())
    data_fail("{}: facts@best_metric: {}, but tensors/history has {} at epoch {}", checkpoint.path,
              best_->best_metric(), metric_.score(best->val_metric), best->epoch);
}

}  // namespace adj::apps
