#pragma once

#include "options.h"
#include "outputs.h"

#include <csignal>

namespace adj::apps {

/// Trains the runs that are asked for, one after the other.
class Trainer {
 public:
  Trainer(const Program& program, const CommandLine& line, const Dataset& data);
  /// Goes on from a checkpoint. Throws DataError where it is not of this program, dataset, model and options.
  void resume(const std::string& path);
  /// Throws Interrupted after a SIGINT or SIGTERM: the epoch was finished, and the checkpoint written where
  /// one was asked for.
  void run();

  const std::string& model() const { return training_.name; }
  const std::vector<RunResult>& results() const { return results_; }
  const std::vector<EpochRecord>& history() const { return history_; }
  /// Of the last run.
  const Tensor& logits() const { return logits_; }
  /// Median over the epochs trained by this process, evaluation apart; 0 where there was none.
  double epoch_ms() const;

 private:
  void start_run();
  void train_epochs(Progress& progress);
  /// The forward pass on the validation nodes: their loss, with `validated_` as the logits.
  Var validate();
  void evaluate(double train_loss, optim::TrainStep& validation);
  /// What stands beside the count of epochs.
  std::string note(double train_loss) const;
  /// "epoch 20", or "epochs 11 to 20" where those before were not looked at.
  std::string since_last_look() const;
  void finish_run();
  void describe_state();
  void save(optim::Checkpoint& checkpoint) const;
  void load(const optim::Checkpoint& checkpoint);

  const Program& program_;
  const CommandLine& line_;
  const Settings& settings_;
  const Dataset& data_;

  int64_t run_ = 0, epoch_ = 0;
  int64_t looked_at_ = 0;  // the last epoch whose loss and parameters are known to be finite
  bool stopped_ = false;
  Training training_;
  std::unique_ptr<optim::EarlyStopping> best_;
  std::string fingerprint_;  // of the data, where a checkpoint is to be read or written
  std::unique_ptr<optim::TrainingState> state_;
  std::vector<RunResult> results_;
  std::vector<EpochRecord> history_;
  std::vector<double> epoch_ms_;
  Tensor logits_, validated_;
};

}  // namespace adj::apps
