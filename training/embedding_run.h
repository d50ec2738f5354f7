#pragma once

#include <adjoint/core/progress.h>
#include <adjoint/optim/early_stopping.h>
#include <adjoint/optim/metrics_file.h>
#include <adjoint/optim/non_finite.h>
#include <adjoint/optim/optimizer.h>
#include <adjoint/training/options.h>
#include <adjoint/training/run_folder.h>
#include <adjoint/training/stopwatch.h>
#include <adjoint/training/training_state.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace adj::training {

/// Options that train_kge and train_recommend have in common.
struct EmbeddingOptions {
  int64_t eval_every = 10;     ///< epochs from one validation to the next
  int64_t patience = 0;        ///< epochs without a better metric; 0: it never stops early
  int64_t seed = 0;            ///< of all that is drawn
  int64_t threads = 0;         ///< 0: all cores
  std::string device = "cpu";  ///< or "cuda", "cuda:1"
  bool no_capture = false;     ///< no CUDA graph of a step
  bool json = false;           ///< results as a JSON object
  bool quiet = false;          ///< no progress
  std::string metrics;         ///< file of losses and metrics
  std::string checkpoint;      ///< file of the training's state
  std::string resume;          ///< checkpoint to continue from
  std::string embeddings;      ///< file of vectors
  std::string out;             ///< file of predictions
  int64_t top = 10;            ///< best ones of each query or user there
  std::string run_dir;         ///< folder of options, metrics, checkpoint and results
  std::string config;          ///< file of options

 protected:
  /// The rows of --help: what validates is called `metric`, and `drawn` is what --seed is of.
  OptionList validation_options(const std::string& metric, const std::string& drawn);
  Options::Group device_options();
  /// Of the checkpoint's help `note` is the end.
  OptionList state_options(const std::string& metric, const std::string& note = "");
  OptionList run_options();

  using Files = std::vector<std::pair<std::string, std::string>>;  ///< options and their paths
  /// Names the files of --run-dir. Throws UsageError for files in conflict, with those that the program alone
  /// `reads` and `writes`.
  void name_files(const std::string& data, const Files& reads, const Files& writes);
};

/// What train_kge and train_recommend have in common: epochs with validation, early stopping, checkpoints,
/// metrics and a run folder. A training is a derived class.
class EmbeddingRun {
 public:
  EmbeddingRun(const EmbeddingRun&) = delete;
  EmbeddingRun& operator=(const EmbeddingRun&) = delete;
  virtual ~EmbeddingRun() = default;

  /// Begins the next epoch; at the end of the last one restores the best weights and tests them, and returns
  /// false.
  bool next_epoch();
  /// Adds a step's loss to the epoch's mean.
  void add(const Tensor& loss);
  /// Prints the results; with --json one object. Ends the run in --run-dir.
  void write_results() const;

 protected:
  /// The process's settings, before anything is drawn, and the folder of --run-dir.
  EmbeddingRun(std::string program, const EmbeddingOptions& options);
  /// Once there are a model and data: `columns` are those of --metrics.
  void prepare(nn::Module& model, optim::Optimizer& optimizer, int64_t epochs, int64_t steps,
               const std::vector<std::string>& columns);

  using Visit = std::function<void(const Option&)>;
  virtual void for_options(const Visit& visit) const = 0;  ///< each option of the training
  virtual std::string fingerprint() const = 0;             ///< of the data
  virtual void begin_epoch() = 0;                          ///< its order and draws
  /// Measures the model on what validates; the metric that is maximised, or none if nothing validates.
  virtual std::optional<double> validate() = 0;
  virtual void evaluate() = 0;                                 ///< validates and tests the best model
  virtual void write_row(optim::MetricsFile& file) const = 0;  ///< of --metrics, after validate()
  virtual std::string progress_note() const = 0;               ///< "val MRR 0.3"
  virtual void print() const = 0;                              ///< the results, for people
  virtual std::string json() const = 0;                        ///< likewise, as an object

  /// visit(option) for each; they are bound to the copy that is passed.
  template <class Options>
  static void for_each(Options options, const Visit& visit) {
    for (const auto& group : options.groups())
      for (const Option& option : group.options) visit(option);
  }

  /// `"best_epoch": 3, "epoch_ms": 1.2, "peak_mb": 30.1}`, the end of json().
  std::string json_end() const;
  double epoch_ms() const;  ///< median
  Device device() const { return device_; }
  int64_t epoch() const { return epoch_; }           ///< epochs done
  int64_t steps() const { return steps_; }           ///< of an epoch
  double train_loss() const { return train_loss_; }  ///< of the last epoch that was validated
  int64_t best_epoch() const { return best_->best_epoch(); }
  TrainingState& state() { return *state_; }  ///< after prepare()

 private:
  void end_epoch();
  RunSummary summary() const;

  const std::string program_;
  const EmbeddingOptions settings_;
  std::shared_ptr<const void> new_folder_, folder_;  // of --run-dir: removed if empty, and locked
  Device device_;
  nn::Module* model_ = nullptr;
  std::optional<optim::EarlyStopping> best_;
  std::optional<TrainingState> state_;
  std::optional<optim::MetricsFile> metrics_;
  optim::NonFiniteMonitor finite_;
  std::optional<Progress> progress_;
  Tensor loss_sum_;
  int64_t epochs_ = 0, steps_ = 0, epoch_ = 0;
  bool begun_ = false, stopped_ = false;
  double train_loss_ = 0.0;
  Stopwatch watch_;
  std::vector<double> epoch_ms_;
};

}  // namespace adj::training
