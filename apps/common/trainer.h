#pragma once

#include "epochs.h"
#include "options.h"
#include "outputs.h"
#include <adjoint/models/preprocessing.h>

#include <csignal>

namespace adj::apps {

/// Trains the runs that are asked for, one after the other.
class Trainer {
 public:
  /// Run r trains on split splits[r % size] of the examples, which with the data are on the device. The
  /// features went through `features`.
  Trainer(const Program& program, const CommandLine& line, const Dataset& data,
          const optim::Preprocessing& features, const Examples& examples, const Metric& metric,
          std::vector<size_t> splits);
  /// Goes on from a checkpoint. Throws DataError where it is not of this program, dataset, model and options.
  void resume(const std::string& path);
  /// Throws Interrupted after a SIGINT or SIGTERM: the epoch was finished, and the checkpoint written where
  /// one was asked for.
  void run();

  const std::string& model() const { return name_; }
  const std::vector<RunResult>& results() const { return record_.results; }
  /// What RunResult::reported are.
  const std::vector<Metric>& reported() const { return reported_; }
  const std::vector<EpochRecord>& history() const { return record_.history; }
  /// Of the last run, as an Objective gives it, and what it was tested on.
  const Tensor& output() const { return output_; }
  const Tensor& test_examples() const { return examples_.test; }
  /// Median over the epochs trained by this process, evaluation apart; 0 where there was none.
  double epoch_ms() const;

 private:
  void start_run();
  /// "scatter" or "reduce": how this training sums neighbours.
  const char* aggregation() const { return edges_ && edges_->scatters() ? "scatter" : "reduce"; }
  /// Takes the split of run `run_`.
  void choose_split();
  Training training() {
    return {settings_, settings_.seed + run_, *model_, *optimizer_, objective_, data_, examples_, features_,
            source_};
  }
  void train_epochs(Progress& progress);
  void evaluate(double train_loss);
  bool stopped_early() const { return stopped_ && epoch_ < settings_.epochs; }
  /// "epoch 66/200", of several runs "run 2/5  epoch 66/200".
  std::string count() const;
  /// "run 2/5", "fold 2/10".
  std::string run_name() const;
  /// What stands beside that.
  std::string note(double train_loss) const;
  /// "epoch 20", or "epochs 11 to 20" where those before were not looked at.
  std::string since_last_look() const;
  /// "logits", or what they are for this task.
  const char* outputs_name() const;
  void finish_run();
  void describe_state();
  void save(optim::Checkpoint& checkpoint) const;
  void load(const optim::Checkpoint& checkpoint);

  const Program& program_;
  const CommandLine& line_;
  const Settings& settings_;
  Dataset data_;       // without the features that are elsewhere
  Examples examples_;  // with the run's split in use
  const Metric metric_;
  const std::vector<Metric> reported_;  // all of the program's, where it names some
  const std::vector<size_t> splits_;
  const optim::Preprocessing preprocessing_;
  const int64_t num_features_;
  Features features_;                           // absent where --features says that they are elsewhere
  std::shared_ptr<const FeatureStore> source_;  // of batches
  std::optional<EdgeList> edges_;               // of an inductive training

  int64_t run_ = 0, epoch_ = 0;
  int64_t looked_at_ = 0;  // the last epoch whose loss and parameters are known to be finite
  bool stopped_ = false;
  std::unique_ptr<Model> model_;
  std::string name_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  Objective objective_;
  std::unique_ptr<optim::EarlyStopping> best_;
  std::unique_ptr<Epochs> epochs_;  // of this run
  std::string fingerprint_;         // of the data, where a checkpoint is to be read or written
  std::unique_ptr<optim::TrainingState> state_;
  TrainingRecord record_;
  std::vector<double> epoch_ms_;
  Tensor output_;
};

}  // namespace adj::apps
