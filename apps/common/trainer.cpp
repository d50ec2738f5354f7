#include "trainer.h"

#include <adjoint/optim/finite.h>

#include <algorithm>
#include <chrono>
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

/// Times training alone: stop() before an evaluation or a checkpoint, start() after it.
class Stopwatch {
 public:
  void start() {
    begin_ = Clock::now();
    epochs_ = 0;
  }
  void count() { ++epochs_; }
  /// Milliseconds an epoch since start().
  double stop(Device device) const {
    synchronize(device);
    return std::chrono::duration<double, std::milli>(Clock::now() - begin_).count() /
           static_cast<double>(epochs_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_;
  int64_t epochs_ = 0;
};

double test_auc(const Dataset& data, const Tensor& logits) {
  if (data.num_classes() != 2) return std::numeric_limits<double>::quiet_NaN();
  const std::vector<float> values = logits.to_vector<float>();
  std::vector<double> margin(values.size() / 2);
  for (size_t i = 0; i < margin.size(); ++i)
    margin[i] = static_cast<double>(values[2 * i + 1]) - static_cast<double>(values[2 * i]);
  const auto labels = data.y.to_vector<int32_t>();
  const auto test = data.test.to_vector<int32_t>();
  const auto positive =
      std::count_if(test.begin(), test.end(), [&](int32_t i) { return labels[static_cast<size_t>(i)] == 1; });
  if (positive == 0 || static_cast<size_t>(positive) == test.size())
    return std::numeric_limits<double>::quiet_NaN();
  const Device cpu;
  return nn::roc_auc(Tensor::from(margin), data.y.to(cpu), data.test.to(cpu));
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
std::vector<EpochRecord> read_history(const optim::Checkpoint& checkpoint, int64_t run, int64_t epochs) {
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
    r.val_acc = row.number(4, "the validation accuracy", 0.0, 1.0);
    history.push_back(r);
  }
  if (const int64_t last = history.empty() ? -1 : history.back().run; last < run - 1)
    data_fail("{}: tensors/history: no row of run {}", checkpoint.path, last + 1);
  return history;
}

/// Null where the epoch was not evaluated.
const EpochRecord* row_of(const std::vector<EpochRecord>& history, int64_t run, int64_t epoch) {
  const auto found = std::find_if(history.begin(), history.end(),
                                  [=](const auto& r) { return r.run == run && r.epoch == epoch; });
  return found == history.end() ? nullptr : &*found;
}

/// One row for each of the `runs` that are over.
std::vector<RunResult> read_results(const optim::Checkpoint& checkpoint, int64_t runs, int64_t epochs,
                                    const std::vector<EpochRecord>& history) {
  const std::vector<double> values = checkpoint.table("results", kRecordWidth);
  const int64_t rows = std::ssize(values) / kRecordWidth;
  if (rows != runs) data_fail("{}: tensors/results: {} rows, expected {}", checkpoint.path, rows, runs);
  std::vector<RunResult> results;
  for (int64_t i = 0; i < rows; ++i) {
    const TableRow row(checkpoint, "results", values, i);
    const RunResult r{row.finite(0, "the training loss"), row.number(1, "the validation accuracy", 0.0, 1.0),
                      row.number(2, "the test accuracy", 0.0, 1.0),
                      row.share_or_none(3, "the area under the curve"),
                      row.whole(4, "the best epoch", 1, epochs)};
    if (row_of(history, i, r.best_epoch) == nullptr)
      row.refuse("the best epoch", static_cast<double>(r.best_epoch), "one that tensors/history has");
    results.push_back(r);
  }
  return results;
}

}  // namespace

Trainer::Trainer(const Program& program, const CommandLine& line, const Dataset& data)
    : program_(program), line_(line), settings_(line.settings), data_(data) {
  if (!settings_.checkpoint.empty() || !settings_.resume.empty()) fingerprint_ = fingerprint(data_);
  start_run();
}

void Trainer::start_run() {
  manual_seed(static_cast<uint64_t>(settings_.seed + run_));
  state_.reset();
  best_.reset();
  training_ = program_.make(data_, settings_);
  best_ = std::make_unique<optim::EarlyStopping>(*training_.module, settings_.patience);
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
  optim::TrainStep step(
      [&] {
        Var loss = cross_entropy(training_.logits(), data_.y, data_.train);
        if (between) between->add(loss.value());
        loss.backward();
        training_.optimizer->step();
        return loss;
      },
      {.capture = settings_.capture});
  optim::TrainStep validation([this] { return validate(); }, {.capture = settings_.capture});

  Stopwatch watch;
  watch.start();
  while (epoch_ < settings_.epochs && !stopped_) {
    const Tensor loss = step();
    ++epoch_;
    watch.count();
    const bool last = epoch_ == settings_.epochs;
    const bool evaluated = last || epoch_ % settings_.eval_every == 0;
    bool keep = epoch_ % settings_.checkpoint_every == 0 || caught != 0;
    if (evaluated || keep) epoch_ms_.push_back(watch.stop(device));
    if (evaluated) {
      const double train_loss = loss.item();
      if (std::isfinite(train_loss)) require_finite_between();
      evaluate(train_loss, validation);
      stopped_ = best_->observe(epoch_, history_.back().val_acc);
    }
    if (progress.due()) progress.note(note(loss.item()));
    keep = keep || last || stopped_;
    if (keep && !settings_.checkpoint.empty()) {
      if (between && !evaluated && optim::first_not_finite(training_.module->state()).empty())
        require_finite_between();
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
  text += fmt::format("  validation {:.4f}", last.val_acc);
  if (last.epoch != epoch_) text += fmt::format(" (epoch {})", last.epoch);
  return text;
}

std::string Trainer::since_last_look() const {
  return epoch_ == looked_at_ + 1 ? fmt::format("epoch {}", epoch_)
                                  : fmt::format("epochs {} to {}", looked_at_ + 1, epoch_);
}

// Recorded once on a GPU, as the training step is: the logits' tensor is then the same each time.
Var Trainer::validate() {
  const NoGrad no_grad;
  training_.module->eval();
  const Var logits = training_.logits();
  training_.module->train();
  validated_ = logits.value();
  return cross_entropy(logits, data_.y, data_.val);
}

// The loss is read here anyway and the parameters cost one pass beside a whole forward one; one of them that
// is not finite does not become so again. A loss may, whence the watch over those between.
void Trainer::evaluate(double train_loss, optim::TrainStep& validation) {
  if (!std::isfinite(train_loss))
    fail("{}: the training loss is {}; try a smaller --lr", since_last_look(), train_loss);
  optim::require_finite(*training_.module, since_last_look());
  const double val_loss = validation().item();
  if (!std::isfinite(val_loss)) {
    const bool overflow = !optim::first_not_finite({{"logits", validated_}}).empty();
    fail("{}: the {} {}; try a smaller --lr", since_last_look(),
         overflow ? "logits are not finite, and the validation loss is" : "validation loss is", val_loss);
  }
  looked_at_ = epoch_;
  history_.push_back({run_, epoch_, train_loss, val_loss, nn::accuracy(validated_, data_.y, data_.val)});
}

void Trainer::finish_run() {
  best_->restore();
  const NoGrad no_grad;
  training_.module->eval();
  logits_ = training_.logits().value();
  // Of nodes in no part of the split, too: predictions hold all of them.
  if (!optim::first_not_finite({{"logits", logits_}}).empty())
    fail("epoch {}: the logits are not finite; try a smaller --lr", best_->best_epoch());
  results_.push_back({history_.back().train_loss, best_->best_metric(),
                      nn::accuracy(logits_, data_.y, data_.test), test_auc(data_, logits_),
                      best_->best_epoch()});
  if (settings_.runs > 1)
    log_info("run {}/{}: test accuracy {:.4f} at epoch {}", run_ + 1, settings_.runs,
             results_.back().test_acc, results_.back().best_epoch);
}

double Trainer::epoch_ms() const {
  if (epoch_ms_.empty()) return 0.0;
  std::vector<double> sorted = epoch_ms_;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0;
}

void Trainer::describe_state() {
  state_ = std::make_unique<optim::TrainingState>(program_.name, *training_.module, *training_.optimizer);
  for (const auto& [option, text] : line_.identity) state_->require("option." + option, text);
  if (settings_.runs > 1) state_->require("option.epochs", fmt::format("{}", settings_.epochs));
  state_->require("dataset", fingerprint_).require("model", training_.name).add(*best_);
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
                             r.val_loss, r.val_acc});
  checkpoint.tensors["history"] = Tensor::from(rows, {static_cast<int64_t>(history_.size()), kRecordWidth});
  rows.clear();
  for (const RunResult& r : results_)
    rows.insert(rows.end(),
                {r.train_loss, r.val_acc, r.test_acc, r.test_auc, static_cast<double>(r.best_epoch)});
  checkpoint.tensors["results"] = Tensor::from(rows, {static_cast<int64_t>(results_.size()), kRecordWidth});
}

void Trainer::load(const optim::Checkpoint& checkpoint) {
  run_ = checkpoint.integer("run", 0, settings_.runs - 1);
  stopped_ = checkpoint.integer("stopped", 0, 1) != 0;
  history_ = read_history(checkpoint, run_, settings_.epochs);
  results_ = read_results(checkpoint, run_, settings_.epochs, history_);
  const bool begun = !history_.empty() && history_.back().run == run_;
  if (stopped_ && !begun)
    data_fail("{}: facts@stopped: 1, but tensors/history has no row of run {}", checkpoint.path, run_);
  const EpochRecord* best = row_of(history_, run_, best_->best_epoch());
  if (begun ? best == nullptr : best_->best_epoch() != -1)
    data_fail("{}: facts@best_epoch: {}, expected {} of run {}", checkpoint.path, best_->best_epoch(),
              begun ? "an epoch in tensors/history" : "-1, for it has no row", run_);
  if (best != nullptr && best->val_acc != best_->best_metric())
    data_fail("{}: facts@best_metric: {}, but tensors/history has {} at epoch {}", checkpoint.path,
              best_->best_metric(), best->val_acc, best->epoch);
}

}  // namespace adj::apps
