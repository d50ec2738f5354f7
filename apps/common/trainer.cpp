#include "trainer.h"

#include "feature_place.h"
#include "stopwatch.h"
#include <adjoint/optim/finite.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace adj::apps {

namespace {

volatile std::sig_atomic_t caught = 0;
extern "C" void catch_signal(int number) { caught = number; }

/// While alive, the first SIGINT or SIGTERM waits for the end of the epoch; a second one kills.
class SignalScope {
 public:
  SignalScope() {
    struct sigaction action {};
    action.sa_handler = catch_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, &action, &before_[0]);
    sigaction(SIGTERM, &action, &before_[1]);
  }
  ~SignalScope() {
    sigaction(SIGINT, &before_[0], nullptr);
    sigaction(SIGTERM, &before_[1], nullptr);
  }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

 private:
  struct sigaction before_[2];
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

constexpr int64_t kRecordWidth = 5;

/// Row `row` of a table in a checkpoint, whose numbers are asked for with what they must be.
class TableRow {
 public:
  TableRow(const optim::Checkpoint& checkpoint, const char* table, const std::vector<double>& values,
           int64_t row)
      : checkpoint_(checkpoint), table_(table), values_(values.data() + row * kRecordWidth), row_(row) {}

  int64_t whole(int column, const char* name, int64_t low, int64_t high) const {
    const double value = number(column, name, static_cast<double>(low), static_cast<double>(high));
    if (value != std::floor(value)) refuse(name, value, "a whole number");
    return static_cast<int64_t>(value);
  }
  double number(int column, const char* name, double low, double high) const {
    const double value = values_[column];
    if (!(value >= low && value <= high)) refuse(name, value, fmt::format("{} to {}", low, high));
    return value;
  }
  double finite(int column, const char* name) const {
    if (!std::isfinite(values_[column])) refuse(name, values_[column], "a finite number");
    return values_[column];
  }
  double value_of(const Metric& metric, int column, const char* part) const {
    const std::string name = fmt::format("the {} {}", part, metric.name);
    (void)finite(column, name.c_str());
    return number(column, name.c_str(), metric.low, metric.high);
  }
  /// A share, or NaN where there is none.
  double share_or_none(int column, const char* name) const {
    return std::isnan(values_[column]) ? values_[column] : number(column, name, 0.0, 1.0);
  }
  [[noreturn]] void refuse(const char* name, double value, const std::string& expected) const {
    data_fail("{}: tensors/{}: row {}: {} is {}, expected {}", checkpoint_.path, table_, row_, name, value,
              expected);
  }

 private:
  const optim::Checkpoint& checkpoint_;
  const char* table_;
  const double* values_;
  int64_t row_;
};

/// The epochs that were evaluated, run after run, up to where run `run` stands.
std::vector<EpochRecord> read_history(const optim::Checkpoint& checkpoint, const Metric& metric, int64_t run,
                                      int64_t epochs) {
  const std::vector<double> values = checkpoint.table("history", kRecordWidth);
  const int64_t now = checkpoint.integer("epoch");
  std::vector<EpochRecord> history;
  for (int64_t i = 0; i < std::ssize(values) / kRecordWidth; ++i) {
    const TableRow row(checkpoint, "history", values, i);
    const int64_t before = history.empty() ? -1 : history.back().run;
    EpochRecord r{};
    r.run = row.whole(0, "the run", 0, run);
    if (r.run != before && r.run != before + 1)
      row.refuse("the run", static_cast<double>(r.run), fmt::format("{} or the one after it", before));
    r.epoch = row.whole(1, "the epoch", 1, r.run == run ? now : epochs);
    if (r.run == before && r.epoch <= history.back().epoch)
      row.refuse("the epoch", static_cast<double>(r.epoch),
                 fmt::format("one after {}", history.back().epoch));
    r.train_loss = row.finite(2, "the training loss");
    r.val_loss = row.finite(3, "the validation loss");
    r.val_metric = row.value_of(metric, 4, "validation");
    history.push_back(r);
  }
  if (const int64_t last = history.empty() ? -1 : history.back().run; last < run - 1)
    data_fail("{}: tensors/history: no row of run {}", checkpoint.path, last + 1);
  return history;
}

/// What RunResult::reported are of the runs that are over.
void read_reported(const optim::Checkpoint& checkpoint, const std::vector<Metric>& metrics,
                   std::vector<RunResult>& results) {
  if (metrics.empty()) return;
  const auto width = 2 * metrics.size();
  const std::vector<double> values = checkpoint.table("reported", static_cast<int64_t>(width));
  if (values.size() != width * results.size())
    data_fail("{}: tensors/reported: {} rows, expected {}", checkpoint.path, values.size() / width,
              results.size());
  for (size_t k = 0; k < values.size(); ++k) {
    const Metric& metric = metrics[k % width / 2];
    if (!(values[k] >= metric.low && values[k] <= metric.high))
      data_fail("{}: tensors/reported: row {}: {} is {}, expected {} to {}", checkpoint.path, k / width,
                metric.name, values[k], metric.low, metric.high);
    results[k / width].reported.push_back(values[k]);
  }
}

/// Null where the epoch was not evaluated.
const EpochRecord* row_of(const std::vector<EpochRecord>& history, int64_t run, int64_t epoch) {
  const auto found = std::find_if(history.begin(), history.end(),
                                  [=](const auto& r) { return r.run == run && r.epoch == epoch; });
  return found == history.end() ? nullptr : &*found;
}

/// One row for each of the `runs` that are over.
std::vector<RunResult> read_results(const optim::Checkpoint& checkpoint, int64_t runs, int64_t epochs,
                                    const Metric& metric, const std::vector<EpochRecord>& history) {
  const std::vector<double> values = checkpoint.table("results", kRecordWidth);
  const int64_t rows = std::ssize(values) / kRecordWidth;
  if (rows != runs) data_fail("{}: tensors/results: {} rows, expected {}", checkpoint.path, rows, runs);
  std::vector<RunResult> results;
  for (int64_t i = 0; i < rows; ++i) {
    const TableRow row(checkpoint, "results", values, i);
    const RunResult r{row.finite(0, "the training loss"), row.value_of(metric, 1, "validation"),
                      row.value_of(metric, 2, "test"), row.share_or_none(3, "the area under the curve"),
                      row.whole(4, "the best epoch", 1, epochs)};
    if (row_of(history, i, r.best_epoch) == nullptr)
      row.refuse("the best epoch", static_cast<double>(r.best_epoch), "one that tensors/history has");
    results.push_back(r);
  }
  return results;
}

}  // namespace

Trainer::Trainer(const Program& program, const CommandLine& line, const Dataset& data,
                 const Examples& examples, const Metric& metric, std::vector<size_t> splits)
    : program_(program),
      line_(line),
      settings_(line.settings),
      data_(data),
      examples_(examples),
      metric_(metric),
      reported_(program.metrics ? program.metrics(settings_) : std::vector<Metric>()),
      splits_(std::move(splits)),
      num_features_(data.num_features()) {
  if (!settings_.checkpoint.empty() || !settings_.resume.empty())
    for (const size_t split : splits_) {
      examples_.use_split(split);
      fingerprint_ += (fingerprint_.empty() ? "" : "; ") + fingerprint_of(data_, examples_);
    }
  if (settings_.loader != "none") source_ = feature_source(data_, settings_);
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
  model_ = program_.make(num_features_, examples_.outputs, settings_);
  model_->to(data_.device());
  model_->to(feature_dtype(settings_));
  name_ = model_->describe();
  if (settings_.inductive && !edges_) {
    const ListUse use = use_of_epoch(training().node_model());
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
    finish_run();
    progress.advance(settings_.epochs - epoch_);
    if (++run_ == settings_.runs) return;
    start_run();
  }
}

void Trainer::train_epochs(Progress& progress) {
  const Device device = data_.device();
  std::optional<optim::FiniteWatch> between;  // of losses that nobody reads
  if (settings_.eval_every > 1) between.emplace(device);
  const auto require_finite_between = [&] {
    if (between && !between->all_finite())
      fail("{}: a training loss among them was not finite; try a smaller --lr", since_last_look());
  };
  optim::FiniteWatch* losses = between ? &*between : nullptr;
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
      const EpochRecord& now = history_.back();
      const double score = metric_.score(now.val_metric);
      stopped_ = settings_.patience_on == "either" ? best_->observe(epoch_, score, now.val_loss)
                                                   : best_->observe(epoch_, score);
    }
    if (progress.due()) progress.note(note(loss.item()));
    keep = keep || last || stopped_;
    if (keep && !settings_.checkpoint.empty()) {
      if (between && !evaluated && optim::first_not_finite(model_->state()).empty()) require_finite_between();
      state_->save(settings_.checkpoint, epoch_);  // which refuses what is not finite
    }
    progress.advance();
    if (caught != 0)
      throw Interrupted{caught, settings_.checkpoint.empty()
                                    ? fmt::format("interrupted after epoch {}; nothing was written", epoch_)
                                    : fmt::format("interrupted after epoch {}; --resume {} goes on", epoch_,
                                                  settings_.checkpoint)};
    if (evaluated || keep) watch.start();
  }
}

std::string Trainer::note(double train_loss) const {
  std::string text = fmt::format("loss {:.4f}", train_loss);
  if (history_.empty() || history_.back().run != run_) return text;
  const EpochRecord& last = history_.back();
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
  history_.push_back(
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
  results_.push_back({history_.back().train_loss, metric_.score(best_->best_metric()),
                      metric_.of(output_, examples_.y, examples_.test), test_auc(examples_, output_),
                      best_->best_epoch()});
  for (const Metric& metric : reported_)
    for (const Tensor* part : {&examples_.val, &examples_.test})
      results_.back().reported.push_back(metric.of(output_, examples_.y, *part));
  if (settings_.runs > 1)
    log_info("{} {}/{}: {}{} {:.4f} at epoch {}", examples_.cross_validated ? "fold" : "run", run_ + 1,
             settings_.runs, examples_.cross_validated ? "" : "test ", metric_.name,
             results_.back().test_metric, results_.back().best_epoch);
}

double Trainer::epoch_ms() const {
  if (epoch_ms_.empty()) return 0.0;
  std::vector<double> sorted = epoch_ms_;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0;
}

void Trainer::describe_state() {
  state_ = std::make_unique<optim::TrainingState>(program_.name, *model_, *optimizer_);
  for (const auto& [option, text] : line_.identity) state_->require("option." + option, text);
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
  std::vector<double> rows;
  for (const EpochRecord& r : history_)
    rows.insert(rows.end(), {static_cast<double>(r.run), static_cast<double>(r.epoch), r.train_loss,
                             r.val_loss, r.val_metric});
  checkpoint.tensors["history"] = Tensor::from(rows, {static_cast<int64_t>(history_.size()), kRecordWidth});
  rows.clear();
  for (const RunResult& r : results_)
    rows.insert(rows.end(),
                {r.train_loss, r.val_metric, r.test_metric, r.test_auc, static_cast<double>(r.best_epoch)});
  checkpoint.tensors["results"] = Tensor::from(rows, {static_cast<int64_t>(results_.size()), kRecordWidth});
  if (!reported_.empty()) {
    rows.clear();
    for (const RunResult& r : results_) rows.insert(rows.end(), r.reported.begin(), r.reported.end());
    checkpoint.tensors["reported"] = Tensor::from(rows, {std::ssize(results_), 2 * std::ssize(reported_)});
  }
  if (!objective_.mean()) return;
  checkpoint.tensors["targets.mean"] = objective_.mean();
  checkpoint.tensors["targets.deviation"] = objective_.deviation();
}

void Trainer::load(const optim::Checkpoint& checkpoint) {
  run_ = checkpoint.integer("run", 0, settings_.runs - 1);
  choose_split();
  stopped_ = checkpoint.integer("stopped", 0, 1) != 0;
  history_ = read_history(checkpoint, metric_, run_, settings_.epochs);
  results_ = read_results(checkpoint, run_, settings_.epochs, metric_, history_);
  read_reported(checkpoint, reported_, results_);
  const bool begun = !history_.empty() && history_.back().run == run_;
  if (stopped_ && !begun)
    data_fail("{}: facts@stopped: 1, but tensors/history has no row of run {}", checkpoint.path, run_);
  const EpochRecord* best = row_of(history_, run_, best_->best_epoch());
  if (begun ? best == nullptr : best_->best_epoch() != -1)
    data_fail("{}: facts@best_epoch: {}, expected {} of run {}", checkpoint.path, best_->best_epoch(),
              begun ? "an epoch in tensors/history" : "-1, for it has no row", run_);
  if (best != nullptr && metric_.score(best->val_metric) != best_->best_metric())
    data_fail("{}: facts@best_metric: {}, but tensors/history has {} at epoch {}", checkpoint.path,
              best_->best_metric(), metric_.score(best->val_metric), best->epoch);
}

}  // namespace adj::apps
