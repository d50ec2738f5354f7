#pragma once

#include <adjoint/core/progress.h>
#include <adjoint/optim/early_stopping.h>
#include <adjoint/optim/metrics_file.h>
#include <adjoint/optim/non_finite.h>
#include <adjoint/optim/optimizer.h>
#include <adjoint/training/options.h>
#include <adjoint/training/stopwatch.h>
#include <adjoint/training/training_state.h>
#include <adjoint/training/triple_ranks.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// Training of knowledge-graph embeddings (train_kge).

namespace adj::training {

/// What a triple's loss is over: all entities, for a triple (1vsAll) or for all tails of a query (KvsAll), or
/// its own and some that are drawn. The first two have reciprocal relations.
enum class TripleTraining : uint8_t { one_vs_all, k_vs_all, negatives };
constexpr auto names_of(TripleTraining) {
  return std::array{"1vsall", "kvsall", "negatives"};
}  ///< in options

/// Powers of the numbers of a batch that are added to its loss: of all vectors, the absolute values cubed
/// (N3; Lacroix et al. 2018) or squared (L2), or the squares of entities and queries (DURA; Zhang et al.
/// 2020).
enum class TriplePenalty : uint8_t { none, l2, n3, dura };
constexpr auto names_of(TriplePenalty) { return std::array{"none", "l2", "n3", "dura"}; }  ///< in options

/// Optimizers with an update of single rows.
enum class TripleOptimizer : uint8_t { adagrad, adam };
constexpr auto names_of(TripleOptimizer) { return std::array{"adagrad", "adam"}; }  ///< in options

/// Options of train_kge. What is absent, or not set, is the model's usual value (complete()); `epochs` of
/// drawn negatives are as many as have about kUsualSteps, which the data decide.
struct TripleOptions {
  static constexpr int64_t kUnset = std::numeric_limits<int64_t>::min(), kUsualSteps = 80'000,
                           kMostUsualEpochs = 1000;

  std::string data;
  double val = 0.05, test = 0.05;  ///< shares of a file without splits
  TripleModel model = TripleModel::complex;
  std::optional<TripleTraining> training;
  std::optional<TripleLoss> loss;
  std::optional<TriplePenalty> penalty;
  std::optional<TripleOptimizer> optimizer;
  std::optional<ScheduleKind> schedule;
  int64_t width = kUnset, norm = 1, negatives = kUnset, batch_size = kUnset, epochs = kUnset;
  double lr = double(kUnset), margin = double(kUnset), temperature = double(kUnset),
         penalty_weight = double(kUnset), dropout = 0.0, deviation = double(kUnset);
  int64_t seed = 0, eval_every = 10, patience = 0, threads = 0;
  std::string device = "cpu";
  bool no_capture = false, json = false, quiet = false;
  std::string metrics, checkpoint, resume, embeddings, relation_embeddings, predict, out;
  int64_t top = 10;

  /// Bound to this object, by headings of --help.
  std::vector<Options::Group> groups();
  /// Sets the model's usual values. Throws UsageError for options out of range or in conflict.
  void complete();
};

/// A batch on the device, as kernels::TripleBatchArgs has it.
struct TripleBatch {
  Tensor number, relation, entity;
};

/// Everything of a training but its loop.
class TripleRun {
 public:
  /// `options` are complete. Throws DataError for a file that does not fit them.
  explicit TripleRun(const TripleOptions& options);

  /// Shuffles the triples of the next epoch; at the end of the last one restores the best weights and tests
  /// them, and returns false.
  bool next_epoch();
  int64_t steps() const { return steps_; }  ///< of an epoch
  /// The next batch of the epoch. For a captured step, as the next two.
  const TripleBatch& next_batch();
  /// The loss of a batch with its penalty.
  Var loss(const TripleBatch& batch);
  /// A step of the optimizer, after backward().
  void update(const TripleBatch& batch);
  /// Adds a step's loss to the epoch's mean.
  void add(const Tensor& loss);

  const Triples& data() const { return data_; }
  const models::TripleEmbedding& model() const { return model_; }
  const TripleRanks& test() const { return test_; }  ///< after the last epoch
  /// Prints the results; with --json one object.
  void print_results() const;
  /// Writes --embeddings and --relation-embeddings.
  void write_vectors() const;

 private:
  Var loss_of_all(const TripleBatch& batch);
  Var loss_of_drawn(const TripleBatch& batch);
  Var penalty(const Var& entities, const Var& relations, const Var& queries) const;
  void end_epoch();
  void describe_state();

  TripleOptions o_;
  Device device_;
  Triples data_;
  nn::Model<models::TripleEmbedding> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  TripleRanking val_ranks_, test_ranks_;
  optim::EarlyStopping best_;
  TrainingState state_;
  std::optional<optim::MetricsFile> metrics_;
  optim::NonFiniteMonitor finite_;
  std::optional<Progress> progress_;
  optim::Schedule schedule_;  // null: a constant rate

  Tensor triples_, order_, position_, loss_sum_;  // of training, with reciprocals, on the device
  EntityTargets targets_;                         // of them, for losses over all entities
  TripleBatch batch_;
  Tensor entity_gradient_, relation_gradient_;  // of a batch's rows
  int64_t steps_ = 0, epoch_ = 0;
  bool begun_ = false, stopped_ = false;
  double train_loss_ = 0.0;
  TripleRanks val_, test_;
  Stopwatch watch_;
  std::vector<double> epoch_ms_;
};

}  // namespace adj::training
