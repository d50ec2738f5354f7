#include "trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

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
  epoch_ = 0;
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
  optim::TrainStep step(
      [this] {
        Var loss = cross_entropy(training_.logits(), data_.y, data_.train);
        loss.backward();
        training_.optimizer->step();
        return loss;
      },
      {.capture = settings_.capture});

  Stopwatch watch;
  watch.start();
  while (epoch_ < settings_.epochs && !stopped_) {
    const Tensor loss = step();
    ++epoch_;
    watch.count();
    const bool last = epoch_ == settings_.epochs;
    const bool validate = last || epoch_ % settings_.eval_every == 0;
    bool keep = epoch_ % settings_.checkpoint_every == 0 || caught != 0;
    if (validate || keep) epoch_ms_.push_back(watch.stop(device));
    if (validate) {
      evaluate(loss.item());
      const EpochRecord& now = history_.back();
      if (progress.due())
        progress.note(fmt::format("loss {:.4f}  validation {:.4f}", now.train_loss, now.val_acc));
      stopped_ = best_->observe(epoch_, now.val_acc);
    }
    keep = keep || last || stopped_;
    if (keep && !settings_.checkpoint.empty()) state_->save(settings_.checkpoint, epoch_);
    progress.advance();
    if (caught != 0)
      throw Interrupted{caught, settings_.checkpoint.empty()
                                    ? fmt::format("interrupted after epoch {}; nothing was written", epoch_)
                                    : fmt::format("interrupted after epoch {}; --resume {} goes on", epoch_,
                                                  settings_.checkpoint)};
    if (validate || keep) watch.start();
  }
}

void Trainer::evaluate(double train_loss) {
  if (!std::isfinite(train_loss))
    fail("epoch {}: the training loss is {}; try a smaller --lr", epoch_, train_loss);
  const NoGrad no_grad;
  training_.module->eval();
  const Var logits = training_.logits();
  training_.module->train();
  history_.push_back({run_, epoch_, train_loss, cross_entropy(logits, data_.y, data_.val).item(),
                      nn::accuracy(logits.value(), data_.y, data_.val)});
}

void Trainer::finish_run() {
  best_->restore();
  const NoGrad no_grad;
  training_.module->eval();
  logits_ = training_.logits().value();
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
  epoch_ = state_->resume(path);
  if (epoch_ > settings_.epochs)
    data_fail("{}: facts@epoch: {}, expected 0 to {}", path, epoch_, settings_.epochs);
  if (epoch_ == settings_.epochs && history_.empty())
    data_fail("{}: tensors/history: no rows after {} epochs", path, epoch_);
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
  history_.clear();
  const std::vector<double> history = checkpoint.table("history", kRecordWidth);
  for (size_t i = 0; i < history.size(); i += kRecordWidth)
    history_.push_back({static_cast<int64_t>(history[i]), static_cast<int64_t>(history[i + 1]),
                        history[i + 2], history[i + 3], history[i + 4]});
  results_.clear();
  const std::vector<double> results = checkpoint.table("results", kRecordWidth);
  for (size_t i = 0; i < results.size(); i += kRecordWidth)
    results_.push_back(
        {results[i], results[i + 1], results[i + 2], results[i + 3], static_cast<int64_t>(results[i + 4])});
  ADJ_CHECK(static_cast<int64_t>(results_.size()) == run_, "tensors/results: {} rows, expected {}",
            results_.size(), run_);
}

}  // namespace adj::apps
