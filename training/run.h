#pragma once

#include <adjoint/core/profile.h>
#include <adjoint/core/progress.h>
#include <adjoint/data/loader/layer_wise.h>
#include <adjoint/optim/early_stopping.h>
#include <adjoint/optim/gradient_sums.h>
#include <adjoint/optim/non_finite.h>
#include <adjoint/optim/optimizer.h>
#include <adjoint/training/epoch.h>
#include <adjoint/training/insight.h>
#include <adjoint/training/objective.h>
#include <adjoint/training/record.h>
#include <adjoint/training/run_folder.h>
#include <adjoint/training/stopwatch.h>
#include <adjoint/training/task.h>
#include <adjoint/training/tensorboard.h>
#include <adjoint/training/training_state.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace adj::training {

class RankPart;
template <class Batch>
class RemainingEpochs;

/// Everything in a training except the steps: runs and seeds, validation, early stopping, checkpoints,
/// progress bar and record. The loops are the program's:
///
///   Run run(settings, task);
///   while (run.next_run()) {
///     const auto model = make_model(settings, task);
///     const auto optimizer = make_optimizer(*model, settings.run);
///     run.begin(*model, *optimizer);
///     const auto batches = node_batches(run, *model);
///     Step step(*batches, [&](const NodeBatch& batch) { … });
///     for (auto& epoch : run.epochs(*batches))
///       for (const NodeBatch& batch : epoch) epoch.add(step(batch));
///   }
///
/// A training continued with --resume gives bit-identical results.
class Run {
 public:
  /// All must outlive it. `part`: what this thread's rank computes; null: it computes all.
  Run(const Settings& settings, const LearningTask& task, const RankPart* part = nullptr);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Starts the next run: selects its split and seeds the default generator. False after the last.
  bool next_run();
  /// Takes the run's model and optimizer, which must outlive it and whose rate factor follows the --schedule,
  /// if there is one; the first call resumes from the checkpoint of --resume. Throws DataError if that is not
  /// of this program, dataset, model and options.
  void begin(models::Model& model, optim::Optimizer& optimizer);
  /// The epochs that remain, until the last one or early stopping. At an epoch's end the model is validated,
  /// early stopping updated and a checkpoint written when due; at the last one's the weights of the best
  /// epoch are restored and evaluated on the test examples. All this happens between the bodies of the loop,
  /// which then throws adj::Error for non-finite numbers, and Interrupted after a SIGINT or SIGTERM, which is
  /// deferred to here. A loop that is left early does not end the run.
  template <class Batch>
  RemainingEpochs<Batch> epochs(Batches<Batch>& batches) {
    return {*this, batches};
  }

  const Settings& settings() const { return settings_; }
  const LearningTask& task() const { return task_; }
  const RankPart* part() const { return part_; }  ///< null: there is one rank
  bool leads() const;                             ///< whether it writes what is written: of rank 0, or alone
  Device device() const;                          ///< of model and outputs
  std::string place() const;                      ///< of the training: "cuda", "cuda:0, cuda:1"
  /// With the run's split selected.
  const Examples& examples() const { return examples_; }
  const Objective& objective() const { return objective_; }                           ///< of the run's split
  uint64_t seed() const { return static_cast<uint64_t>(settings_.run.seed + run_); }  ///< of this run
  /// Completed epochs of this run.
  int64_t epoch() const { return epoch_; }
  /// Threads that prepare batches.
  int workers() const { return settings_.batches.num_workers(settings_.compute.device); }
  /// Shuffled batches of --batch-size examples.
  LoaderOptions training_batches() const;
  /// All nodes in order, --batch-size at a time, for a layer-wise evaluation.
  LoaderOptions layer_wise() const {
    return {.batch_size = settings_.batches.batch_size, .workers = workers()};
  }

  /// "GCN 1433-16-7".
  const std::string& model() const { return name_; }
  const TrainingRecord& record() const { return record_; }
  /// Of the last run, with --report.
  const Insight& insight() const { return insight_; }
  /// Output of the last run, as from Objective.
  const Tensor& output() const { return output_; }
  /// Median over the epochs trained by this process, without evaluation; 0 if there were none.
  double epoch_ms() const;
  /// The profile of all runs so far, with --profile; else null.
  const Profiler* profiler() const { return profiler_.get(); }
  /// For run.json of --run-dir, without a result.
  RunSummary summary() const;

 private:
  class SignalScope;
  template <class Batch>
  friend class RemainingEpochs;

  /// Whether there is another epoch.
  bool next_epoch();
  /// Ends an epoch of mean loss `loss`, a scalar on the device.
  void end_epoch(const Tensor& loss, Evaluator& evaluator);
  void finish(Evaluator& evaluator);
  Insight insight_of(Evaluator& evaluator) const;
  void choose_split();
  bool done() const { return epoch_ >= settings_.run.epochs || stopped_; }
  bool stopped_early() const { return stopped_ && epoch_ < settings_.run.epochs; }
  int caught_signal() const;
  void require_finite_between() const;
  void evaluate(double train_loss, Evaluator& evaluator);
  std::string run_name() const;
  std::string count() const;
  std::string note(double train_loss) const;
  std::string since_last_look() const;
  const char* outputs_name() const;
  void describe_state();
  void resume(const std::string& path);
  void save(models::Checkpoint& checkpoint) const;
  void load(const models::Checkpoint& checkpoint);

  const Settings& settings_;
  const LearningTask& task_;
  const RankPart* part_;
  Examples examples_;
  Objective objective_;

  int64_t run_ = -1, epoch_ = 0;
  int64_t looked_at_ = 0;  // the last epoch whose loss and parameters are known to be finite
  bool begun_ = false, stopped_ = false, timing_ = false;
  models::Model* model_ = nullptr;  // of this run, like the members below
  std::string name_;
  optim::Optimizer* optimizer_ = nullptr;
  const optim::Schedule schedule_;
  std::unique_ptr<optim::EarlyStopping> best_;
  std::unique_ptr<TrainingState> state_;
  std::unique_ptr<optim::GradientSums> gradients_;    // with several ranks
  std::unique_ptr<optim::NonFiniteMonitor> between_;  // for losses that are not read

  TrainingRecord record_;
  std::unique_ptr<TensorBoard> board_;  // of this run
  std::unique_ptr<Profiler> profiler_;
  Stopwatch watch_;
  std::vector<double> epoch_ms_;
  Tensor output_;
  Insight insight_;
  std::optional<Progress> progress_;
  std::shared_ptr<const void> folder_;  // the lock of --run-dir
  std::unique_ptr<SignalScope> signals_;
};

/// Run::epochs().
template <class Batch>
class RemainingEpochs {
 public:
  RemainingEpochs(Run& run, Batches<Batch>& batches) : run_(run), batches_(batches) {}

  PullIterator<RemainingEpochs> begin() { return PullIterator(*this); }  ///< call once
  std::default_sentinel_t end() const { return {}; }                     ///< after the last epoch
  /// Ends the epoch before, if any; null after the last.
  Epoch<Batch>* next() {
    if (epoch_) {
      const Tensor loss = epoch_->mean();
      epoch_.reset();  // and its batches
      run_.end_epoch(loss, batches_);
    }
    if (run_.next_epoch()) return &epoch_.emplace(batches_, run_.epoch());
    run_.finish(batches_);
    return nullptr;
  }

 private:
  Run& run_;
  Batches<Batch>& batches_;
  std::optional<Epoch<Batch>> epoch_;
};

/// make_model() on the run's device.
template <class Model = models::NodeModel>
std::unique_ptr<Model> make_model(const Run& run) {
  return make_model<Model>(run.settings(), run.task(), run.device());
}
/// The --optimizer over all parameters of a model; weight decay where Model::decays(). Each of a model's
/// tables is a group of its own, the last ones.
std::unique_ptr<optim::Optimizer> make_optimizer(const models::Model& model, const RunOptions& options);
/// A step of such an optimizer: of all parameters with a gradient, and of the rows that tables of the model
/// have collected (nn::Embedding). Run::begin() has them collected in mini-batches, but not over
/// ranks, by sgd or in bfloat16.
void update(optim::Optimizer& optimizer, const models::NodeModel& model);

/// Writes the predictions for every node or graph to --predict. As the next, only where the run leads.
void write_predictions(const Run& run);
/// Writes --metrics and --plot at the end of a training, and prints the results: a few lines or, with --json,
/// one JSON object (members in docs/programs.md); with --class-scores also the scores per class on the test
/// examples of the last run.
void write_results(const Run& run);
/// Prints the list of --explain.
void print_explanations();

}  // namespace adj::training
